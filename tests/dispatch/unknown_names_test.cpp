// The messages of lookups by name that find nothing, whole: operators, overloads, namespaces, dispatch keys, dtypes,
// devices, types of a schema. And kernels of operators that nobody defined.
#include <shunt/core/by_name.h>
#include <shunt/core/dangling.h>
#include <shunt/elementwise/library.h>
#include <shunt/jit/explain.h>
#include <shunt/shunt.h>

#include "tests/support/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shunt {
namespace {

using test::errorOf;
using testing::HasSubstr;

Tensor same(const Tensor& x) { return x; }

struct Half : functors::Functor<1> {
  static constexpr DtypeSet kTypes = kFloatTypes;
  template <class T>
  T operator()(T x) const {
    return x / 2;
  }
};

/// Operators of a namespace of this test's.
struct UnknownNames : testing::Test {
  static constexpr int kLine = __LINE__ + 1;
  UnknownNames() : library(Library::Kind::kDef, "names") {
    library.def("scale(Tensor x) -> Tensor");
    library.def("scale.Scalar(Tensor x, Scalar by) -> Tensor");
    library.def("shift(Tensor x) -> Tensor");
  }
  static std::string find(const char* name, const char* overload = "") {
    return errorOf([&] { Dispatcher::singleton().findSchemaOrThrow(name, overload); });
  }
  Library library;
};

TEST_F(UnknownNames, OperatorsOfTheNamespace) {
  EXPECT_EQ(find("names::sclae"),
            "Could not find schema for names::sclae: there is no such operator; did you mean 'names::scale'?");
  EXPECT_EQ(find("names::Shift"),
            "Could not find schema for names::Shift: there is no such operator; did you mean 'names::shift'?");
  EXPECT_EQ(find("names::quux"), "Could not find schema for names::quux: there is no such operator");
}

TEST_F(UnknownNames, OverloadsThatThereAre) {
  EXPECT_EQ(find("names::scale", "Scaler"),
            "Could not find schema for names::scale.Scaler: names::scale has no overload 'Scaler', only names::scale, "
            "names::scale.Scalar; did you mean 'names::scale.Scalar'?");
  EXPECT_EQ(find("names::scale", "out"),
            "Could not find schema for names::scale.out: names::scale has no overload 'out', only names::scale, "
            "names::scale.Scalar");
  library.def("turn.Left(Tensor x) -> Tensor");
  EXPECT_EQ(find("names::turn"),
            "Could not find schema for names::turn: names::turn has no overload without a name, only names::turn.Left");
}

TEST_F(UnknownNames, Namespaces) {
  EXPECT_EQ(
      find("nmaes::scale"),
      "Could not find schema for nmaes::scale: there is no such operator, nor any other in the namespace 'nmaes'; "
      "did you mean 'names::scale'?");
  EXPECT_EQ(find("nmaes::quux"),
            "Could not find schema for nmaes::quux: there is no such operator, nor any other in the namespace 'nmaes'; "
            "did you mean 'names'?");
  EXPECT_EQ(find("names::relu"),
            "Could not find schema for names::relu: there is no such operator; did you mean 'aten::relu'?");
  EXPECT_EQ(find("scale"),
            "Could not find schema for scale: there is no such operator: the name has no namespace; did you mean "
            "'names::scale'?");
}

TEST_F(UnknownNames, KernelsWithoutADefinition) {
  EXPECT_EQ(dumpDanglingImpls(), "");
  Library kernels(Library::Kind::kImpl, "names", DispatchKey::CPU);
  const int line = __LINE__ + 1;
  kernels.impl("shfit", &same);
  EXPECT_EQ(dumpDanglingImpls(),
            detail::str("names::shfit  CPU at unknown_names_test.cpp:", line, "; did you mean 'names::shift'?\n"));
  EXPECT_EQ(find("names::shfit"),
            "Could not find schema for names::shfit: it has kernels but no definition (def); did you mean "
            "'names::shift'?");
  const std::vector<DanglingImpl> all = danglingImpls();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].op, OperatorName("names::shfit", ""));
  EXPECT_EQ(all[0].key, DispatchKey::CPU);
  EXPECT_EQ(all[0].place, detail::str("unknown_names_test.cpp:", line));
  ASSERT_EQ(Dispatcher::singleton().findDanglingImpls().size(), 1u) << "the same ones";
  library.def("shfit(Tensor x) -> Tensor");
  EXPECT_EQ(dumpDanglingImpls(), "") << "defined later";
}

TEST_F(UnknownNames, CallsWithoutAKernelNameTheOneThatIsMisspelt) {
  const auto call = [](const char* name, const char* overload = "") {
    return errorOf([&] {
      Stack stack{ones({2})};
      Dispatcher::singleton().findSchemaOrThrow(name, overload).callBoxed(&stack);
    });
  };
  const std::string none =
      "Could not run 'names::scale' with arguments from the 'CPU' backend. Register one with "
      "SHUNT_LIBRARY_IMPL(<namespace>, CPU, m) { m.impl(...); }, or call it with tensors of a backend that is listed "
      "here. It has kernels for: nothing.";
  EXPECT_EQ(call("names::scale"), none);
  Library kernels(Library::Kind::kImpl, "names", DispatchKey::CPU);
  const int line = __LINE__ + 1;
  kernels.impl("sclae", &same);
  const std::string misspelt = detail::str(
      none,
      " A kernel for CPU is registered for 'names::sclae', which nobody defined, at unknown_names_test.cpp:", line,
      "; was 'names::scale' meant?");
  EXPECT_EQ(call("names::scale"), misspelt);
  EXPECT_THAT(call("names::shift"), testing::EndsWith("It has kernels for: nothing."));
  Library others(Library::Kind::kImpl, "mnaes", DispatchKey::CPU);
  others.impl("shift", &same);
  EXPECT_THAT(call("names::shift"), HasSubstr("is registered for 'mnaes::shift', which nobody defined"));
  others.reset();
  kernels.reset();
  kernels.impl("shift.out", &same);
  EXPECT_THAT(call("names::shift"), HasSubstr("is registered for 'names::shift.out', which nobody defined"));
  EXPECT_EQ(call("names::scale"), none);
}

TEST_F(UnknownNames, FormsOfAnUndefinedOperator) {
  EXPECT_EQ(
      errorOf([&] { library.elementwise<Half>("sclae"); }),
      detail::str("elementwise(\"sclae\"): the operator names::sclae is not defined yet, so its forms are not known; "
                  "define it first; did you mean 'names::scale'? (unknown_names_test.cpp:",
                  kLine, ")"));
}

TEST(UnknownKey, NamesThoseThatAreNear) {
  EXPECT_EQ(dispatchKeyNamed("AutogradCPU"), DispatchKey::AutogradCPU);
  EXPECT_EQ(dispatchKeyNamed("CatchAll"), DispatchKey::CompositeImplicitAutograd);
  EXPECT_EQ(
      errorOf([] { dispatchKeyNamed("AutogardCPU"); }),
      "could not parse dispatch key: 'AutogardCPU'; did you mean 'AutogradCPU' or 'AutogradIPU' or 'AutogradXPU'?");
  EXPECT_EQ(errorOf([] { dispatchKeyNamed("Everything"); }),
            "could not parse dispatch key: 'Everything'; expected a name such as 'CPU', 'CUDA', 'Meta', 'Autograd', "
            "'AutogradCPU', 'CompositeImplicitAutograd' or 'CompositeExplicitAutograd'");
}

TEST(UnknownDtype, NamesThoseThatAreNear) {
  EXPECT_EQ(dtypeNamed("bfloat16"), kBFloat16);
  EXPECT_EQ(errorOf([] { dtypeNamed("bflaot16"); }), "unknown dtype 'bflaot16'; did you mean 'bfloat16' or 'float16'?");
  EXPECT_EQ(errorOf([] { dtypeNamed("quux"); }), "unknown dtype 'quux'");
  EXPECT_EQ(errorOf([] { dtypeNamed("complex64"); }), "unknown dtype 'complex64'") << "there are no tensors of it";
}

TEST(UnknownDevice, NamesThoseThatAreNear) {
  EXPECT_EQ(
      errorOf([] { Device("cdua:1"); }),
      "Expected one of cpu, meta, or the type of a backend that is loaded, such as cuda, at start of device string: "
      "cdua:1; did you mean 'cuda'?");
  EXPECT_EQ(
      errorOf([] { Device("quux"); }),
      "Expected one of cpu, meta, or the type of a backend that is loaded, such as cuda, at start of device string: "
      "quux");
}

TEST(UnknownType, OfASchemaNamesThoseThatAreNear) {
  const std::string text = errorOf([] { parseSchema("f(Tensr a) -> Tensor"); });
  EXPECT_THAT(text, testing::EndsWith("or a tuple (type, type), found 'Tensr' (did you mean 'Tensor'?) at column 3:\n"
                                      "  f(Tensr a) -> Tensor\n"
                                      "    ^"));
}

TEST(UnknownArgument, NamesThoseThatAreNear) {
  const OperatorHandle add = Dispatcher::singleton().findSchemaOrThrow("aten::add", "Tensor");
  const Tensor x = ones({2});
  EXPECT_EQ(errorOf([&] { jit::explain(add, {x, x}, {{"alhpa", IValue(1)}}); }),
            "explain: aten::add.Tensor has no argument 'alhpa' (did you mean 'alpha'?); its schema is "
            "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor");
}

}  // namespace
}  // namespace shunt
