// What a functionalized program refuses: all that the plain one refuses, with the same words, and a few things more.
#include "tests/functionalize/util.h"

namespace shunt::test {
namespace {

using testing::HasSubstr;

/// Without "(in aten::view > aten::view)": the operators that run are others.
std::string words(const std::string& message) { return message.substr(0, message.rfind(" (in ")); }

/// The message of `f` on plain clones of the inputs, which has to be that on functional ones.
template <class F>
std::string sameError(const std::vector<Tensor>& inputs, F f) {
  const auto copies = [&] {
    std::vector<Tensor> out;
    for (const Tensor& t : inputs) out.push_back(t.detach().clone().requires_grad_(t.requires_grad()));
    return out;
  };
  const std::vector<Tensor> plain = copies(), functional = copies();
  const std::string expected = errorOf([&] { f(plain); });
  EXPECT_NE(expected, "no error");
  EXPECT_EQ(words(errorOf([&] { functionalize(f)(functional); })), words(expected));
  for (size_t i = 0; i < inputs.size(); ++i) EXPECT_TRUE(identical(functional[i], inputs[i]));
  return expected;
}

using List = std::vector<Tensor>;

TEST(FunctionalizeErrors, ElementsThatShareMemoryGetOneValue) {
  const auto fill = [](const Tensor& x) { return x.expand({2, 3}).masked_fill_(iota({2, 3}).gt(2), 7); };
  const Tensor row = iota({1, 3});
  EXPECT_THAT(errorOf([&] { functionalize(fill)(row); }),
              testing::AllOf(HasSubstr("aten::masked_fill_.Scalar would write different values"),
                             HasSubstr("sizes [2, 3] and strides [0, 1]")));
  EXPECT_TRUE(identical(row, iota({1, 3})));
  functionalize([](const Tensor& x) { return x.expand({2, 3}).fill_(7); })(row);
  EXPECT_TRUE(identical(row, full({1, 3}, 7.0)));
}

TEST(FunctionalizeErrors, ThoseOfThePlainProgram) {
  EXPECT_THAT(sameError({iota({3}), iota({2, 3})}, [](const List& in) { in[0].add_(in[1]); }),
              HasSubstr("doesn't match the broadcast shape"));
  EXPECT_THAT(sameError({zeros({3}, kLong), iota({3})}, [](const List& in) { in[0].add_(in[1]); }),
              HasSubstr("can't be cast"));
  EXPECT_THAT(sameError({iota({3}).requires_grad_()}, [](const List& in) { in[0].add_(1); }),
              HasSubstr("leaf Variable that requires grad"));
  EXPECT_THAT(sameError({iota({3}).requires_grad_()}, [](const List& in) { in[0].slice(0, 1).add_(1); }),
              HasSubstr("view of a leaf Variable"));
  EXPECT_THAT(sameError({iota({3}).requires_grad_(), iota({3})},
                        [](const List& in) {
                          Tensor out = in[1];
                          add_out(out, in[0], in[0]);
                        }),
              HasSubstr("don't support automatic differentiation"));
  EXPECT_THAT(sameError({iota({4, 2}).requires_grad_()}, [](const List& in) { in[0].mul(1).unbind()[0].add_(1); }),
              HasSubstr("multiple views"));
  EXPECT_THAT(sameError({iota({1, 3})}, [](const List& in) { in[0].expand({2, 3}).add_(1); }),
              HasSubstr("single memory location"));
  EXPECT_THAT(sameError({iota({4})}, [](const List& in) { in[0].slice(0, 1).add_(in[0].slice(0, 0, 3)); }),
              HasSubstr("memory"));
  EXPECT_THAT(sameError({iota({3}).requires_grad_()},
                        [](const List& in) {
                          Tensor t = in[0];
                          t.resize_({4});
                        }),
              HasSubstr("cannot resize"));
  EXPECT_THAT(sameError({iota({2, 3})}, [](const List& in) { in[0].t().view({6}); }),
              HasSubstr("view size is not compatible"));
}

TEST(FunctionalizeErrors, AChangedLeafIsALeafStill) {
  const Tensor p = to_functional(iota({3}).requires_grad_());
  {
    const NoGradGuard no_grad;
    p.add_(1);
  }
  EXPECT_THAT(errorOf([&] { p.add_(1); }), HasSubstr("a leaf Variable that requires grad"));
  EXPECT_THAT(errorOf([&] { p[0].add_(1); }), HasSubstr("a view of a leaf Variable"));
}

TEST(FunctionalizeErrors, WhatIsRecordedCantGoThroughDetach) {
  const Tensor w = iota({3}).requires_grad_();
  const Tensor x = to_functional(zeros({3}));
  EXPECT_THAT(errorOf([&] { x.detach().add_(w); }), HasSubstr("a detached alias"));
  EXPECT_TRUE(identical(from_functional(x), zeros({3})));
}

TEST(FunctionalizeErrors, WritingToAConstant) {
  const Tensor constant = iota({3});
  Tensor out = iota({3});
  EXPECT_THAT(errorOf([&] { functionalize([&](const Tensor& x) { constant.add_(x); })(iota({3})); }),
              HasSubstr("operator aten::add_.Tensor: argument 'self' is a plain tensor, but is written"));
  EXPECT_THAT(errorOf([&] { functionalize([&](const Tensor& x) { add_out(out, x, x); })(iota({3})); }),
              HasSubstr("argument 'out' is a plain tensor"));
  EXPECT_TRUE(identical(constant, iota({3})) && identical(out, iota({3})));
}

TEST(FunctionalizeErrors, AnOperatorWithoutFunctionalForm) {
  Library lib(Library::Kind::kDef, "functionalize_errors");
  lib.def("scale_(Tensor(a!) self, float by) -> Tensor(a!)",
          [](Tensor& self, double by) -> Tensor& { return self.mul_(by); });
  const auto scale_ =
      Dispatcher::singleton().findSchemaOrThrow("functionalize_errors::scale_").typed<Tensor&(Tensor&, double)>();
  Tensor x = to_functional(iota({3}));
  EXPECT_THAT(
      errorOf([&] { scale_.call(x, 2); }),
      HasSubstr("operator functionalize_errors::scale_ can't be functionalized: no operator computes what it writes"));
  lib.def("scale(Tensor self, float by) -> Tensor", [](const Tensor& self, double by) { return self.mul(by); });
  scale_.call(x, 2);
  EXPECT_TRUE(identical(from_functional(x), iota({3}).mul(2)));
}

TEST(FunctionalizeErrors, FormsThatAreTakenBackAndDefinedAnew) {
  Library lib(Library::Kind::kDef, "functionalize_anew");
  lib.def("raise_(Tensor(a!) self) -> Tensor(a!)", [](Tensor& self) -> Tensor& { return self.add_(1); });
  const auto raise_ = Dispatcher::singleton().findSchemaOrThrow("functionalize_anew::raise_").typed<Tensor&(Tensor&)>();
  const auto raised = [&] {
    Tensor x = to_functional(zeros({2}));
    raise_.call(x);
    return x[0].item<float>();
  };
  {
    Library form(Library::Kind::kFragment, "functionalize_anew");
    form.def("raise(Tensor self) -> Tensor", [](const Tensor& self) { return self.add(1); });
    EXPECT_EQ(raised(), 1);
  }
  EXPECT_THAT(errorOf(raised), HasSubstr("can't be functionalized"));
  {
    Library form(Library::Kind::kFragment, "functionalize_anew");
    form.def("raise(Tensor self, float by) -> Tensor", [](const Tensor& self, double by) { return self.add(by); });
    EXPECT_THAT(errorOf(raised), HasSubstr("can't be functionalized"));
    EXPECT_FALSE(functional_form(Dispatcher::singleton().findSchemaOrThrow("functionalize_anew::raise_")).has_value());
  }
  Library form(Library::Kind::kFragment, "functionalize_anew");
  form.def("raise(Tensor self) -> Tensor", [](const Tensor& self) { return self.add(100); });
  EXPECT_EQ(raised(), 100);
}

TEST(FunctionalizeErrors, OperatorsThatLie) {
  Library lib(Library::Kind::kDef, "functionalize_lies");
  lib.def("sneaky(Tensor self) -> Tensor", [](const Tensor& self) {
    *static_cast<float*>(self.data_ptr()) += 1;
    return self.clone();
  });
  const auto sneaky =
      Dispatcher::singleton().findSchemaOrThrow("functionalize_lies::sneaky").typed<Tensor(const Tensor&)>();
  const Tensor x = to_functional(iota({3}));
  const FunctionalizeCheckGuard check;
  EXPECT_THAT(errorOf([&] { sneaky.call(x); }),
              HasSubstr("functionalize_lies::sneaky changed the data of an argument"));
}

TEST(FunctionalizeErrors, ToAndFrom) {
  EXPECT_THAT(errorOf([] { to_functional(Tensor()); }), HasSubstr("undefined"));
  EXPECT_THAT(errorOf([] { to_functional(to_functional(ones({1}))); }), HasSubstr("functional already"));
  EXPECT_THAT(errorOf([] { from_functional(ones({1})); }), HasSubstr("expected a functional tensor"));
  EXPECT_THAT(errorOf([] { from_functional(Tensor()); }), HasSubstr("undefined"));
}

TEST(FunctionalizeErrors, ThereIsNoData) {
  const Tensor x = to_functional(iota({3}));
  EXPECT_THAT(errorOf([&] { x.data_ptr(); }), HasSubstr("functional"));
  EXPECT_EQ(x[2].item<float>(), 2);
  EXPECT_THAT(x.toString(), HasSubstr("0., 1., 2."));
  const Tensor data = x.data();
  data.add_(1);
  EXPECT_TRUE(identical(from_functional(x), iota({3}).add(1)));
}

}  // namespace
}  // namespace shunt::test
