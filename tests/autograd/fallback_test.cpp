// Operators without derivative: the default Autograd kernel.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/autograd/util.h"

#include <shunt/autograd/not_implemented.h>

namespace shunt::test {
namespace {

using testing::HasSubstr;

Tensor twice(const Tensor& x) { return x.mul(2); }
Tensor countPositive(const Tensor& x) { return x.gt(0).sum(); }
Tensor& tripleInPlace(Tensor& x) { return x.mul_(3); }
std::vector<Tensor> both(TensorList xs) { return {xs[0].add(xs[1]), xs[0].gt(0)}; }

SHUNT_LIBRARY(autograd_fallback_test, m) {
  m.def("twice(Tensor x) -> Tensor");
  m.def("count_positive(Tensor x) -> Tensor");
  m.def("triple_(Tensor(a!) x) -> Tensor(a!)");
  m.def("both(Tensor[] xs) -> Tensor[]");
}
SHUNT_LIBRARY_IMPL(autograd_fallback_test, CPU, m) {
  m.impl("twice", &twice);
  m.impl("count_positive", &countPositive);
  m.impl("triple_", &tripleInPlace);
  m.impl("both", &both);
}

template <class Signature>
auto op(const char* name) {
  return Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

TEST(Fallback, BackwardNamesTheOperator) {
  const auto f = op<Tensor(const Tensor&)>("autograd_fallback_test::twice");
  const Tensor x = leaf({1, 2});
  const Tensor y = f.call(x);
  EXPECT_EQ(values(y), (Values{2, 4}));
  EXPECT_TRUE(y.requires_grad());
  EXPECT_EQ(y.grad_fn()->name(), "NotImplemented");
  EXPECT_THAT(errorOf([&] { y.sum().backward(); }),
              HasSubstr("derivative for autograd_fallback_test::twice is not implemented. Register one for the key "
                        "Autograd (docs/adding_an_operator.md), or detach() the operator's result"));
  EXPECT_FALSE(f.call(x.detach()).requires_grad());
  NoGradGuard guard;
  EXPECT_FALSE(f.call(x).requires_grad());
}

TEST(Fallback, IntegerResultsHaveNoHistory) {
  const auto f = op<Tensor(const Tensor&)>("autograd_fallback_test::count_positive");
  const Tensor n = f.call(leaf({1, -2}));
  EXPECT_FALSE(n.requires_grad());
  EXPECT_EQ(n.item<int64_t>(), 1);
}

TEST(Fallback, InPlace) {
  const auto f = op<Tensor&(Tensor&)>("autograd_fallback_test::triple_");
  Tensor x = leaf({1});
  EXPECT_THAT(errorOf([&] { f.call(x); }), HasSubstr("a leaf Variable that requires grad"));
  Tensor y = x.mul(1);
  EXPECT_EQ(&f.call(y), &y);
  EXPECT_EQ(y._version(), 1);
  EXPECT_THAT(errorOf([&] { y.sum().backward(); }), HasSubstr("derivative for autograd_fallback_test::triple_"));
  const Tensor base = x.mul(1).view({1, 1});
  Tensor v = base.select(0, 0);
  f.call(v);
  EXPECT_THAT(errorOf([&] { base.sum().backward(); }), HasSubstr("derivative for autograd_fallback_test::triple_"));
}

/// Counts writes and makes views of what nothing is recorded of.
TEST(InplaceOrViewFallback, WithoutGradients) {
  Library library(Library::Kind::kFragment, "autograd_fallback_test");
  library.def("row(Tensor(a) x) -> Tensor(a)");
  library.def("rows(Tensor(a) x) -> Tensor(a)[]");
  library.def("list_of_rows(Tensor(a) x) -> Tensor[](a)");
  Library cpu(Library::Kind::kImpl, "autograd_fallback_test", DispatchKey::CPU);
  cpu.impl("row", [](const Tensor& x) { return x.select(0, 0); });
  for (const char* name : {"rows", "list_of_rows"}) cpu.impl(name, [](const Tensor& x) { return x.unbind(0); });
  Library kernels(Library::Kind::kImpl, "autograd_fallback_test", DispatchKey::ADInplaceOrView);
  for (const char* name : {"triple_", "row", "rows", "list_of_rows"})
    kernels.impl(name, autograd::autogradNotImplementedInplaceOrViewFallback());
  const auto triple = op<Tensor&(Tensor&)>("autograd_fallback_test::triple_");
  const auto row = op<Tensor(const Tensor&)>("autograd_fallback_test::row");

  Tensor plain = tensorOf({1});
  triple.call(plain);
  EXPECT_EQ(plain._version(), 1) << "of a tensor that requires no gradient";
  const Tensor x = leaf({1, 2});
  Tensor recorded = x.mul(1);
  triple.call(recorded);
  EXPECT_EQ(recorded._version(), 1) << "where the Autograd kernel counts";
  EXPECT_TRUE(row.call(x.mul(1)).is_view());

  const Tensor product = x.mul(x.mul(2));  // saves what is changed below
  Tensor written = x.detach();
  NoGradGuard guard;
  triple.call(written);
  EXPECT_EQ(x._version(), 1);
  EXPECT_EQ(values(written), (Values{3, 6}));
  {
    AutoGradMode on(true);
    EXPECT_THAT(errorOf([&] { product.sum().backward(); }), HasSubstr("modified by an inplace operation"));
  }
  Tensor base = tensorOf({1, 2, 3, 4}).view({2, 2}).clone();
  Tensor view = row.call(base);
  EXPECT_TRUE(view.is_view());
  for (const char* name : {"autograd_fallback_test::rows", "autograd_fallback_test::list_of_rows"}) {
    const std::vector<Tensor> rows = op<std::vector<Tensor>(const Tensor&)>(name).call(base);
    ASSERT_TRUE(rows[1].is_view()) << name;
    EXPECT_TRUE(rows[1]._base().is_same(base));
  }
  view.mul_(2);
  EXPECT_EQ(base._version(), 1) << "they count together";
  AutoGradMode on(true);
  base = tensorOf({1, 2});
  view = row.call(base);
  base.mul_(leaf({3, 4}));
  EXPECT_THAT(errorOf([&] { view.grad_fn(); }), HasSubstr("does not have a derivative implemented"));
}

TEST(Fallback, ListsInAndOut) {
  const auto f = op<std::vector<Tensor>(TensorList)>("autograd_fallback_test::both");
  const std::vector<Tensor> in{tensorOf({1}), leaf({2})};
  const std::vector<Tensor> out = f.call(in);
  EXPECT_TRUE(out[0].requires_grad());
  EXPECT_FALSE(out[1].requires_grad());
}

TEST(Fallback, ADerivativeOfOnesOwnTakesItsPlace) {
  struct TwiceFunction : autograd::Function<TwiceFunction> {
    static Tensor forward(autograd::AutogradContext*, const Tensor& x) {
      AutoDispatchBelowAutograd guard;
      return op<Tensor(const Tensor&)>("autograd_fallback_test::twice").call(x);
    }
    static autograd::variable_list backward(autograd::AutogradContext*, autograd::variable_list g) {
      return {g[0].mul(2)};
    }
  };
  Library library(Library::Kind::kImpl, "autograd_fallback_test", DispatchKey::Autograd);
  library.impl("twice", [](const Tensor& x) { return TwiceFunction::apply(x); });
  const Tensor x = leaf({1, 2});
  op<Tensor(const Tensor&)>("autograd_fallback_test::twice").call(x).sum().backward();
  EXPECT_EQ(values(x.grad()), (Values{2, 2}));
}

}  // namespace
}  // namespace shunt::test
