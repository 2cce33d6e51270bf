// FunctionalizeCheckGuard looks into the kernels that are called.
#include "tests/functionalize/util.h"

namespace shunt::test {
namespace {

using testing::HasSubstr;

TEST(FunctionalizeWatch, WritesToTensorsOfTheProgram) {
  static Tensor captured;
  Library lib(Library::Kind::kDef, "functionalize_watch");
  lib.def("argument(Tensor self) -> Tensor", [](const Tensor& self) { return Tensor(self).add_(1).clone(); });
  lib.def("counts(Tensor self) -> Tensor", [](const Tensor& self) {
    captured[1].add_(1);
    return self.clone();
  });
  lib.def("deep(Tensor self) -> Tensor", [](const Tensor& self) {
    return Dispatcher::singleton()
        .findSchemaOrThrow("functionalize_watch::counts")
        .typed<Tensor(const Tensor&)>()
        .call(self);
  });
  lib.def("own(Tensor self) -> Tensor", [](const Tensor& self) {
    Tensor out = self.clone();
    out[0].mul_(2);
    return out.add_(1);
  });
  const auto call = [](const char* name) {
    const auto op = Dispatcher::singleton().findSchemaOrThrow(name).typed<Tensor(const Tensor&)>();
    return errorOf([&] { op.call(to_functional(iota({3}))); });
  };
  const FunctionalizeCheckGuard check;
  const Tensor x = to_functional(zeros({3}));
  const Tensor y = x + 0;
  for (const Tensor& t : {x, y}) {  // what a checked call was given, and what it returned
    captured = from_functional(t);
    EXPECT_THAT(call("functionalize_watch::counts"),
                HasSubstr("operator functionalize_watch::counts calls aten::add_.Scalar, which writes "
                          "to its argument 'self', a tensor of the program"));
    EXPECT_THAT(call("functionalize_watch::deep"), HasSubstr("functionalize_watch::deep calls aten::add_.Scalar"));
    EXPECT_TRUE(identical(captured, zeros({3})));
  }
  EXPECT_THAT(call("functionalize_watch::argument"),
              HasSubstr("functionalize_watch::argument calls aten::add_.Scalar"));
  EXPECT_EQ(call("functionalize_watch::own"), "no error");
  captured.reset();
}

TEST(FunctionalizeWatch, DropoutIsTakenApart) {
  static std::vector<std::string> written;
  written.clear();
  std::vector<Library> spies;
  for (const char* name : {"bernoulli_.float", "div_.Scalar"}) {
    spies.emplace_back(Library::Kind::kImpl, "aten", DispatchKey::BackendSelect);
    spies.back().impl(name, CppFunction::makeFromBoxed([](const OperatorHandle& op, DispatchKeySet ks, Stack* stack) {
                        if (!ks.has(Functionality::Fake)) written.push_back(op.operator_name().str());
                        op.redispatchBoxed(ks & DispatchKeySet::fullAfter(DispatchKey::BackendSelect), stack);
                      }));
  }
  for (const double p : {0.0, 0.3, 1.0})
    expectSameProgram({iota({64})}, [p](const std::vector<Tensor>& in) {
      manual_seed(3);
      written.clear();
      return std::vector<Tensor>{dropout(in[0], p, true).clone(), rand({2})};
    });
  EXPECT_THAT(written, testing::Not(testing::Contains("aten::div_.Scalar")));
  const Tensor constant = iota({4});
  const FunctionalizeGuard guard;
  for (const double p : {0.3, 1.0}) EXPECT_FALSE(is_functional(dropout(constant, p, true)));
}

}  // namespace
}  // namespace shunt::test
