// What batching rules can't be or do: whole messages, and that nothing is left of a failed registration.
#include "tests/vmap/util.h"

#include <shunt/transforms/batching.h>

namespace shunt::test {
namespace {

class BatchingErrors : public testing::Test {
 protected:
  BatchingErrors() {
    lib_.def("one(Tensor x, int n=1) -> Tensor");
    lib_.def("two(Tensor x) -> (Tensor, Tensor)");
    lib_.def("many(Tensor[] x) -> Tensor[]");
    lib_.def("write_(Tensor(a!) self, Tensor by) -> Tensor(a!)");
    lib_.def("number(Tensor x) -> int");
    lib_.def("one.out(Tensor x, int n=1, *, Tensor(a!) out) -> Tensor(a!)");
  }
  /// The message of vmap with a rule of batching_errors::one; without the place where the rule was registered.
  template <class F>
  std::string ofOne(F f) {
    return called("one", [=](const Batched& x, int64_t) { return f(x); }, IValue(1));
  }
  /// The operator's call on samples of shape [3], of a batch of 5.
  template <class Rule, class... More>
  std::string called(const std::string& name, Rule rule, More... more) {
    const Library registered = register_vmap("batching_errors::" + name, rule);
    return errorOf([&] {
      vmap([&](const Tensor& x) {
        Stack stack = {IValue(x), more...};
        Dispatcher::singleton().findSchemaOrThrow(("batching_errors::" + name).c_str(), "").callBoxed(&stack);
        return x;
      })(ones({5, 3}));
    });
  }
  /// The text without "(file:line)" of this file.
  static std::string anywhere(std::string text) {
    const std::string here = " (batching_errors_test.cpp:";
    for (size_t at; (at = text.find(here)) != std::string::npos;) text.erase(at, text.find(')', at) + 1 - at);
    return text;
  }
  Library lib_{Library::Kind::kDef, "batching_errors"};
};

// A forgotten dimension would give each sample the whole batch's value.
static_assert(std::is_constructible_v<Batched, Tensor, std::nullopt_t>);
static_assert(!std::is_constructible_v<Batched, Tensor> && !std::is_aggregate_v<Batched>);

TEST_F(BatchingErrors, OfDimensions) {
  const std::string rule = "vmap: the batching rule of operator batching_errors::one returned ";
  EXPECT_EQ(anywhere(ofOne([](const Batched& x) { return Batched{x.value, 2}; })),
            rule + "out_dim 2 for result 0, a tensor of shape [5, 3]: expected a dimension in [-2, 1]");
  EXPECT_EQ(anywhere(ofOne([](const Batched& x) { return Batched{x.value, -3}; })),
            rule + "out_dim -3 for result 0, a tensor of shape [5, 3]: expected a dimension in [-2, 1]");
  EXPECT_EQ(anywhere(ofOne([](const Batched& x) { return Batched{x.value, 1}; })),
            rule +
                "out_dim 1 for result 0, a tensor of shape [5, 3], which has 3 samples there: expected the batch's "
                "5");
  EXPECT_EQ(anywhere(ofOne([](const Batched& x) { return Batched{x.value.sum(), 0}; })),
            rule +
                "out_dim 0 for result 0, a tensor of shape [], which has no dimension to be the batch: expected no "
                "out_dim");
  EXPECT_EQ(anywhere(ofOne([](const Batched&) { return Batched{Tensor(), 0}; })),
            rule + "out_dim 0 for result 0, an undefined tensor: expected a tensor, or no out_dim");
}

TEST_F(BatchingErrors, NameThePlaceOfTheRule) {
  EXPECT_THAT(ofOne([](const Batched& x) { return Batched{x.value, 2}; }),
              testing::HasSubstr("operator batching_errors::one (batching_errors_test.cpp:"));
}

TEST_F(BatchingErrors, OfResults) {
  EXPECT_EQ(anywhere(called("two", [](BatchingRuleCall& call) { call.add_result(call.batched(0)); })),
            "vmap: the batching rule of operator batching_errors::two returned 1 results: expected 2, as in the schema "
            "batching_errors::two(Tensor x) -> (Tensor, Tensor)");
  EXPECT_EQ(anywhere(called(
                "one", [](BatchingRuleCall& call) { call.add_result(std::vector{call.batched(0)}); }, IValue(1))),
            "vmap: the batching rule of operator batching_errors::one returned a list of tensors as result 0: expected "
            "Tensor");
  const auto rule = [](BatchingRuleCall& call) { call.add_result(call.batched_list(0)[0]); };
  const Library many = register_vmap("batching_errors::many", rule);
  const auto op =
      Dispatcher::singleton().findSchemaOrThrow("batching_errors::many", "").typed<std::vector<Tensor>(TensorList)>();
  EXPECT_EQ(anywhere(errorOf([&] { vmap([&](const Tensor& x) { return op.call({x, x})[0]; })(ones({5, 3})); })),
            "vmap: the batching rule of operator batching_errors::many returned a tensor as result 0: expected "
            "Tensor[]");
}

TEST_F(BatchingErrors, OfWrittenArguments) {
  const Library rule = register_vmap("batching_errors::write_",
                                     [](const Batched& self, const Batched& by) { return by.dim ? self : by; });
  const auto op =
      Dispatcher::singleton().findSchemaOrThrow("batching_errors::write_", "").typed<Tensor&(Tensor&, const Tensor&)>();
  const Tensor x = ones({5, 3}), shared = ones({3});
  const auto write = [&](Tensor self, const Tensor& by) { return Tensor(op.call(self, by)); };
  EXPECT_EQ(errorOf([&] { vmap(write)(x, x); }), "no error");
  EXPECT_EQ(anywhere(errorOf([&] { vmap(write, {.in_dims = {0, std::nullopt}})(x, shared); })),
            "vmap: the batching rule of operator batching_errors::write_ returned another tensor as result 0 than its "
            "argument 'self', which the schema says is written and returned: batching_errors::write_(Tensor(a!) self, "
            "Tensor by) -> Tensor(a!). Write to the argument's value, and return that");
  EXPECT_EQ(errorOf([&] { vmap(write, {.in_dims = {std::nullopt, 0}})(shared, x); }),
            "vmap: operator batching_errors::write_ writes to its argument 'self', a tensor of shape [3] that has no "
            "batch, while its argument 'by' is batched with 5 samples: one tensor can't hold a result for each. Use "
            "the form that returns a new tensor, or pass the written tensor to vmap with a batch dimension");
}

TEST_F(BatchingErrors, OfOutForms) {
  const Library rule =
      register_vmap("batching_errors::one.out", [](const Batched&, int64_t, const Batched& out) { return out; });
  const auto op = Dispatcher::singleton()
                      .findSchemaOrThrow("batching_errors::one", "out")
                      .typed<Tensor&(const Tensor&, int64_t, Tensor&)>();
  EXPECT_EQ(errorOf([&] {
              vmap([&](const Tensor& x) {
                Tensor out = x.clone();
                return Tensor(op.call(x, 1, out));
              })(ones({5, 3}));
            }),
            "vmap: operator batching_errors::one.out is an out= form, and its argument 'x' is batched: inside vmap, "
            "use the form that returns a new tensor");
}

TEST_F(BatchingErrors, OfNames) {
  const auto rule = [](const Batched& x, int64_t) { return x; };
  EXPECT_EQ(errorOf([&] { (void)register_vmap("batching_errors::onne", rule); }),
            "register_vmap(\"batching_errors::onne\"): there is no such operator; did you mean "
            "'batching_errors::one'?");
  EXPECT_EQ(errorOf([&] { (void)register_vmap("zzzzzzzzzzz::qqqqqqqqqqqq", rule); }),
            "register_vmap(\"zzzzzzzzzzz::qqqqqqqqqqqq\"): there is no such operator, nor any other in the namespace "
            "'zzzzzzzzzzz'");
  EXPECT_EQ(errorOf([&] { (void)register_vmap("one", rule); }),
            "register_vmap(\"one\"): expected the operator's name with its namespace, such as \"mine::one\"");
}

TEST_F(BatchingErrors, OfSchemas) {
  const auto whole = [](std::string text) { return text.substr(0, text.rfind(':')); };  // without the line
  EXPECT_EQ(
      whole(errorOf([&] { (void)register_vmap("batching_errors::one", [](const Batched& x) { return x; }); })),
      "register_vmap(\"batching_errors::one\"): the rule does not fit the schema: the schema has 2 arguments, the "
      "function 1\n  schema: batching_errors::one(Tensor x, int n=1) -> Tensor\n  rule:   shunt::Batched "
      "(shunt::Batched const&)\n          registered at batching_errors_test.cpp");
  EXPECT_EQ(whole(errorOf([&] {
              (void)register_vmap("batching_errors::one", [](const BatchInfo&, const Batched& x, double) { return x; });
            })),
            "register_vmap(\"batching_errors::one\"): the rule does not fit the schema: argument 2 ('n') is 'int' in "
            "the schema, 'float' in C++\n  schema: batching_errors::one(Tensor x, int n=1) -> Tensor\n  rule:   "
            "shunt::Batched (shunt::BatchInfo const&, shunt::Batched const&, double)\n          registered at "
            "batching_errors_test.cpp");
  EXPECT_EQ(whole(errorOf([&] { (void)register_vmap("batching_errors::two", [](const Batched& x) { return x; }); })),
            "register_vmap(\"batching_errors::two\"): the rule does not fit the schema: the schema returns 2 values, "
            "the function 1\n  schema: batching_errors::two(Tensor x) -> (Tensor, Tensor)\n  rule:   shunt::Batched "
            "(shunt::Batched const&)\n          registered at batching_errors_test.cpp");
  EXPECT_EQ(errorOf([&] { (void)register_vmap("batching_errors::number", [](BatchingRuleCall&) {}); }),
            "register_vmap(\"batching_errors::number\"): the operator returns int, which has no batch: expected Tensor "
            "or Tensor[] in the schema batching_errors::number(Tensor x) -> int");
}

TEST_F(BatchingErrors, LeaveNoTrace) {
  const auto op = Dispatcher::singleton().findSchemaOrThrow("batching_errors::one", "");
  const std::string state = op.dumpState(), table = op.dumpComputedTable();
  errorOf([&] { (void)register_vmap("batching_errors::one", [](const Batched& x) { return x; }); });
  Library block(Library::Kind::kImpl, "batching_errors", DispatchKey::CPU);
  EXPECT_THAT(errorOf([&] { register_vmap(block, "batching_errors::one", [](BatchingRuleCall&) {}); }),
              testing::HasSubstr("the kernel is for Batched, but the block is for CPU"));
  Library other(Library::Kind::kFragment, "batching_others");
  EXPECT_THAT(errorOf([&] { register_vmap(other, "batching_errors::one", [](BatchingRuleCall&) {}); }),
              testing::HasSubstr("does not match the block's namespace batching_others"));
  EXPECT_EQ(op.dumpState(), state);
  EXPECT_EQ(op.dumpComputedTable(), table);
  op.checkInvariants();
}

// The operator was defined anew, with another schema, while the rule stayed.
TEST_F(BatchingErrors, OfOperatorsThatHaveChanged) {
  std::optional<Library> first(std::in_place, Library::Kind::kFragment, "batching_errors");
  first->def("changed(Tensor x, int n) -> Tensor");
  const Library rule = register_vmap("batching_errors::changed", [](const Batched& x, int64_t) { return x; });
  first.reset();
  lib_.def("changed(Tensor x) -> Tensor");
  const auto op =
      Dispatcher::singleton().findSchemaOrThrow("batching_errors::changed", "").typed<Tensor(const Tensor&)>();
  EXPECT_EQ(errorOf([&] { vmap([&](const Tensor& x) { return op.call(x); })(ones({5, 3})); }),
            "vmap: the batching rule of operator batching_errors::changed takes 2 arguments, and the operator has 1");
}

}  // namespace
}  // namespace shunt::test
