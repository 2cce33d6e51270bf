// What batching rules get and return: each type of argument, lists, options, written arguments, views, boxed calls.
#include "tests/vmap/util.h"

#include <shunt/transforms/batching.h>

namespace shunt::test {
namespace {

class BatchingCalls : public testing::Test {
 protected:
  template <class Signature>
  TypedOperatorHandle<Signature> define(const std::string& schema) {
    lib_.def(schema);
    const std::string name = "batching_calls::" + schema.substr(0, schema.find('('));
    return Dispatcher::singleton().findSchemaOrThrow(name.c_str(), "").typed<Signature>();
  }
  Library lib_{Library::Kind::kDef, "batching_calls"};
};

TEST_F(BatchingCalls, TakeListsOptionsAndNumbers) {
  using Joined = std::tuple<Tensor, std::vector<Tensor>>(TensorList, const std::optional<Tensor>&, IntArrayRef, bool,
                                                         std::string_view, std::optional<double>);
  const auto joined = define<Joined>(
      "joined(Tensor[] parts, Tensor? bias, int[] sizes, bool flag, str text, float? p) -> "
      "(Tensor, Tensor[])");
  lib_.impl("joined", DispatchKey::CPU,
            [](TensorList parts, const std::optional<Tensor>& bias, IntArrayRef sizes, bool flag, std::string_view text,
               std::optional<double> p) {
              Tensor sum = parts[0] + parts[1];
              if (bias) sum = sum + *bias;
              const double by = static_cast<double>(sizes[0] + static_cast<int64_t>(text.size())) + p.value_or(0);
              return std::tuple<Tensor, std::vector<Tensor>>(sum * by, {parts[1] * 2, flag ? parts[0] : sum});
            });
  std::vector<std::vector<std::optional<int64_t>>> seen;
  const Library rule =
      register_vmap("batching_calls::joined",
                    [&](const BatchInfo& info, const std::vector<Batched>& parts, const std::optional<Batched>& bias,
                        IntArrayRef sizes, bool flag, std::string_view text, std::optional<double> p) {
                      seen.push_back({parts[0].dim, parts[1].dim, bias ? bias->dim : -1, info.size});
                      const Tensor a = parts[0].in_front(info.size), b = parts[1].in_front(info.size);
                      const auto add = bias ? std::optional<Tensor>(bias->in_front(info.size)) : std::nullopt;
                      auto [sum, list] = joined.call(std::vector<Tensor>{a, b}, add, sizes, flag, text, p);
                      return std::tuple<Batched, std::vector<Batched>>({sum, 0}, {{list[0].t(), 1}, {list[1], -2}});
                    });
  const auto f = [&](bool with_bias, bool flag) {
    return [&joined, with_bias, flag](const Tensors& t) -> Tensors {
      const auto bias = with_bias ? std::optional<Tensor>(t[2]) : std::nullopt;
      const auto p = flag ? std::optional<double>(0.5) : std::nullopt;
      auto [sum, list] = joined.call(std::vector<Tensor>{t[0], t[1]}, bias, IntArrayRef({3}), flag, "ab", p);
      return {sum, list[0], list[1]};
    };
  };
  const Tensors in = {randn({5, 3}), randn({3, 5}), randn({3})};
  const std::vector<std::optional<int64_t>> dims = {0, 1, std::nullopt};
  for (const bool with_bias : {false, true})
    for (const bool flag : {false, true}) {
      const Tensors got = vmapped(f(with_bias, flag), in, dims), expected = loop(f(with_bias, flag), in, dims);
      for (size_t r = 0; r < 3; ++r) EXPECT_TRUE(sameValues(got[r], expected[r])) << with_bias << flag << r;
    }
  EXPECT_THAT(seen, testing::Each(testing::AnyOf(testing::ElementsAre(0, 1, std::nullopt, 5),
                                                 testing::ElementsAre(0, 1, -1, 5))));
  EXPECT_EQ(seen.size(), 4u);
}

TEST_F(BatchingCalls, TakeListsOfOptionalTensors) {
  const auto picked = define<Tensor(const Tensor&, TensorOptList)>("picked(Tensor x, Tensor?[] by) -> Tensor");
  lib_.impl("picked", DispatchKey::CPU, [](const Tensor& x, TensorOptList by) {
    Tensor out = x;
    for (const std::optional<Tensor>& t : by)
      if (t) out = out * *t;
    return out;
  });
  int absent = 0;
  const Library rule =
      register_vmap("batching_calls::picked", [&](const Batched& x, const std::vector<std::optional<Batched>>& by) {
        Batched out = {x.in_front(), x.is_batched() ? std::optional<int64_t>(0) : std::nullopt};
        for (const std::optional<Batched>& b : by) {
          if (!b) ++absent;
          if (b) out = {out.value * b->in_front(), out.dim || b->dim ? std::optional<int64_t>(0) : std::nullopt};
        }
        return out;
      });
  const auto f = [&](const Tensors& t) {
    return Tensors{picked.call(t[0], std::vector<std::optional<Tensor>>{t[1], std::nullopt, t[2]})};
  };
  const Tensors in = {randn({5, 3}), randn({3, 5}), randn({3})};
  EXPECT_TRUE(sameValues(vmapped(f, in, {0, 1, std::nullopt})[0], loop(f, in, {0, 1, std::nullopt})[0]));
  EXPECT_EQ(absent, 1);
}

// A boxed rule fits every schema: here one rule of three operators.
TEST_F(BatchingCalls, MayBeBoxed) {
  const auto boxed = [](BatchingRuleCall& call) {
    Stack stack;
    for (size_t i = 0; i < call.num_arguments(); ++i) {
      const bool is_tensor = !call.in_dims(i).empty();
      stack.push_back(is_tensor ? IValue(call.batched(i).in_front(call.info().size)) : call.argument(i));
    }
    call.op().callBoxed(&stack);
    for (const IValue& v : stack) call.add_result(Batched{v.toTensor(), 0});
  };
  Library rules(Library::Kind::kFragment, "batching_calls");
  const auto one = define<Tensor(const Tensor&)>("one(Tensor x) -> Tensor");
  const auto two = define<Tensor(const Tensor&, int64_t, const Tensor&)>("two(Tensor x, int n, Tensor y) -> Tensor");
  const auto pair = define<std::tuple<Tensor, Tensor>(const Tensor&)>("pair(Tensor x) -> (Tensor, Tensor)");
  static int calls;
  calls = 0;
  lib_.impl("one", DispatchKey::CPU, [](const Tensor& x) { return ++calls, x.exp(); });
  lib_.impl("two", DispatchKey::CPU, [](const Tensor& x, int64_t n, const Tensor& y) { return ++calls, x * n - y; });
  lib_.impl("pair", DispatchKey::CPU,
            [](const Tensor& x) { return ++calls, std::tuple<Tensor, Tensor>(x * 2, x + 1); });
  for (const char* name : {"batching_calls::one", "batching_calls::two", "batching_calls::pair"})
    register_vmap(rules, name, boxed);
  const auto f = [&](const Tensors& t) -> Tensors {
    const auto [a, b] = pair.call(t[0]);
    return {one.call(t[0]), two.call(a, 3, t[1]), b};
  };
  const Tensors in = {randn({3, 5}), randn({3})};
  const Tensors expected = loop(f, in, {1, std::nullopt});
  calls = 0;
  const Tensors got = vmapped(f, in, {1, std::nullopt});
  EXPECT_EQ(calls, 3);
  for (size_t r = 0; r < 3; ++r) EXPECT_TRUE(sameValues(got[r], expected[r])) << r;
}

TEST_F(BatchingCalls, MayReturnWhatHasNoBatch) {
  const auto parts = define<std::tuple<Tensor, Tensor, Tensor>(const Tensor&, const Tensor&)>(
      "parts(Tensor x, Tensor y) -> (Tensor, Tensor, Tensor)");
  const Library rule = register_vmap("batching_calls::parts", [](const Batched& x, const Batched& y) {
    return std::tuple<Batched, Batched, Batched>({x.value * 2, x.dim}, {y.value + 1, y.dim}, {});
  });
  const auto check = [](const Tensor& third) { EXPECT_FALSE(third.defined()); };
  const auto f = [&](const Tensor& x, const Tensor& y) {
    const auto [a, b, c] = parts.call(x, y);
    check(c);
    Tensor written = b;
    written.add_(1);  // one tensor for all samples
    return std::pair<Tensor, Tensor>(a, written);
  };
  const Tensor x = randn({3, 5}), y = randn({3});
  const auto [a, b] = vmap(f, {.in_dims = {1, std::nullopt}})(x, y);
  EXPECT_TRUE(sameValues(a, (x * 2).t()));
  EXPECT_TRUE(sameValues(b, (y + 1 + 1).expand({5, 3})));
}

TEST_F(BatchingCalls, WriteToTheValue) {
  const auto grow = define<Tensor&(Tensor&, const Tensor&)>("grow_(Tensor(a!) self, Tensor by) -> Tensor(a!)");
  lib_.impl("grow_", DispatchKey::CPU, [](Tensor& self, const Tensor& by) -> Tensor& { return self.mul_(by); });
  int calls = 0;
  const Library rule = register_vmap("batching_calls::grow_", [&](const Batched& self, const Batched& by) {
    ++calls;
    Tensor in_front = self.in_front();
    grow.call(in_front, by.in_front());
    return self;
  });
  const Tensor start = randn({3, 5}), by = randn({5, 3});
  const Tensor x = start.clone();
  const auto f = [&](Tensor t, const Tensor& b) {
    const uint32_t before = t._version();
    const Tensor same = grow.call(t, b);
    EXPECT_TRUE(same.is_same(t));
    EXPECT_GT(t._version(), before);
    return same + 1;
  };
  const Tensor got = vmap(f, {.in_dims = {1, 0}})(x, by);
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(sameValues(x, start * by.t()));
  EXPECT_TRUE(sameValues(got, start.t() * by + 1));
}

TEST_F(BatchingCalls, MayReturnNothing) {
  const auto fill = define<void(const Tensor&, const Tensor&)>("fill(Tensor(a!) out, Tensor x) -> ()");
  lib_.impl("fill", DispatchKey::CPU, [](const Tensor& out, const Tensor& x) { const_cast<Tensor&>(out).copy_(x); });
  const Library rule = register_vmap(
      "batching_calls::fill", [&](const Batched& out, const Batched& x) { fill.call(out.in_front(), x.in_front()); });
  const Tensor out = zeros({5, 3}), x = randn({3, 5});
  vmap([&](const Tensor& o, const Tensor& t) { return fill.call(o, t), o; }, {.in_dims = {0, 1}})(out, x);
  EXPECT_TRUE(sameValues(out, x.t()));
}

TEST_F(BatchingCalls, MayReturnViews) {
  const auto tail = define<Tensor(const Tensor&)>("tail(Tensor(a) x) -> Tensor(a)");
  lib_.impl("tail", DispatchKey::CPU, [](const Tensor& x) { return x.narrow(-1, 1, x.size(-1) - 1); });
  const auto f = [&](const Tensor& x) {
    const Tensor c = x.clone();
    tail.call(c).add_(100);
    return c;
  };
  const Tensor x = randn({3, 4});
  EXPECT_THAT(errorOf([&] { vmap(f)(x); }), testing::HasSubstr("batching_calls::tail has no rule, and returns a view"));
  const Library rule =
      register_vmap("batching_calls::tail", [&](const Batched& t) { return Batched{tail.call(t.in_front()), 0}; });
  EXPECT_TRUE(sameValues(vmap(f)(x), stack({f(x[0]), f(x[1]), f(x[2])})));
}

TEST_F(BatchingCalls, SayWhatRandomOperatorsDo) {
  const auto noisy = define<Tensor(const Tensor&)>("noisy(Tensor x) -> Tensor");
  std::vector<Randomness> seen;
  const Library rule = register_vmap("batching_calls::noisy", [&](const BatchInfo& info, const Batched& x) {
    seen.push_back(info.randomness);
    return x;
  });
  const auto f = [&](const Tensor& x) { return noisy.call(x); };
  for (const Randomness r : {Randomness::kError, Randomness::kSame, Randomness::kDifferent})
    vmap(f, {.randomness = r})(ones({2, 3}));
  EXPECT_THAT(seen, testing::ElementsAre(Randomness::kError, Randomness::kSame, Randomness::kDifferent));
}

// What an exception in a rule leaves behind is what one in any operator does.
TEST_F(BatchingCalls, MayThrow) {
  const auto bad = define<Tensor(const Tensor&)>("bad(Tensor x) -> Tensor");
  const Library rule =
      register_vmap("batching_calls::bad", [](const Batched&) -> Batched { throw Error("of the rule"); });
  const auto f = vmap([&](const Tensor& x) { return bad.call(x); });
  EXPECT_THAT(errorOf([&] { f(ones({2, 3})); }), testing::HasSubstr("of the rule"));
  EXPECT_TRUE(sameValues(vmap([](const Tensor& x) { return x * 2; })(ones({2, 3})), full({2, 3}, 2.0)));
  EXPECT_FALSE(tls_is_included(DispatchKey::Batched));
}

}  // namespace
}  // namespace shunt::test
