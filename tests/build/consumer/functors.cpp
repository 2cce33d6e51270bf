// Operators of a program's own, their kernels made from functors: a unary one, and a binary one with a scalar.
#include "functors.h"

#include <shunt/elementwise/library.h>
#include <shunt/shunt.h>

#include <cmath>
#include <cstdio>

namespace {

struct Softplus : shunt::functors::FloatFunctor<1> {
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C x) const {
    return shunt::math::log1p(shunt::math::exp(x));
  }
};

/// a + alpha * b^2, for every number type.
struct AddSquare : shunt::functors::Functor<2, 1> {
  static constexpr shunt::DtypeSet kTypes = shunt::kNumberTypes;
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C a, C b, C alpha) const {
    return static_cast<C>(a + alpha * b * b);
  }
};

SHUNT_LIBRARY(consumer, m) {
  m.def("softplus(Tensor self) -> Tensor");
  m.def("addsquare(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor");
  m.def("addsquare_(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)");
  m.def("addsquare.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)");
}
SHUNT_LIBRARY_IMPL(consumer, CPU, m) {
  m.elementwise<Softplus>("softplus");
  m.elementwise<AddSquare>("addsquare");
}

using shunt::Scalar;
using shunt::Tensor;

template <class Signature>
auto find(const char* name, const char* overload = "") {
  return shunt::Dispatcher::singleton().findSchemaOrThrow(name, overload).typed<Signature>();
}
Tensor own_softplus(const Tensor& x) { return find<Tensor(const Tensor&)>("consumer::softplus").call(x); }
Tensor addsquare(const Tensor& a, const Tensor& b, const Scalar& alpha) {
  return find<Tensor(const Tensor&, const Tensor&, const Scalar&)>("consumer::addsquare").call(a, b, alpha);
}

bool check(bool good, const char* what) {
  if (!good) std::printf("functors: %s is wrong\n", what);
  return good;
}

bool near(const Tensor& t, int64_t i, double expected, double tolerance) {
  const double got = t.flatten().select(0, i).item<double>();
  return std::abs(got - expected) <= tolerance;
}

bool unaryWorks() {
  const Tensor x = shunt::arange(-20, 21, shunt::kFloat).mul(0.25);
  const Tensor y = own_softplus(x), narrow = own_softplus(x.to(shunt::kBFloat16)),
               whole = own_softplus(shunt::arange(4, shunt::kLong));
  bool good =
      check(y.scalar_type() == shunt::kFloat && narrow.scalar_type() == shunt::kBFloat16, "a unary functor's dtype");
  good &= check(whole.scalar_type() == shunt::kFloat, "the promotion of integers");
  for (int64_t i = 0; i < 41; ++i) {
    const double exact = std::log1p(std::exp(-5 + 0.25 * static_cast<double>(i)));
    good &= check(near(y, i, exact, 1e-6), "a unary functor's value");
    good &= check(near(narrow, i, exact, 0.004 * exact), "a unary functor's bfloat16 value");
  }
  return good & check(near(whole, 3, std::log1p(std::exp(3.0)), 1e-6), "a unary functor's value of an integer");
}

bool binaryWorks() {
  const Tensor column = shunt::arange(3, shunt::kLong).view({3, 1}), row = shunt::arange(4, shunt::kFloat);
  const Tensor mixed = addsquare(column, row, 2);
  bool good = check(mixed.scalar_type() == shunt::kFloat && mixed.sizes() == shunt::IntArrayRef({3, 4}),
                    "a broadcast result's shape");
  for (int64_t i = 0; i < 12; ++i)
    good &= check(near(mixed, i, static_cast<double>(i / 4 + 2 * (i % 4) * (i % 4)), 0), "a broadcast value");
  const Tensor strided = shunt::arange(12, shunt::kFloat).view({3, 4}).t();
  good &= check(near(addsquare(strided, strided, 1), 1, 4 + 16, 0), "a value of a transposed operand");
  const Tensor integers = addsquare(shunt::arange(5, shunt::kInt), shunt::arange(5, shunt::kLong), 3);
  good &= check(integers.scalar_type() == shunt::kLong && near(integers, 4, 4 + 3 * 16, 0), "an integer value");
  good &= check(near(addsquare(row.to(shunt::kBFloat16), row.to(shunt::kBFloat16), 0.5), 3, 7.5, 0),
                "a bfloat16 value with alpha");
  try {
    addsquare(shunt::ones({2}), shunt::ones({3}), 1);
    return check(false, "a shape error");
  } catch (const shunt::Error&) {
  }
  return good;
}

bool givenOutputsWork() {
  const Tensor a = shunt::arange(6, shunt::kFloat), b = shunt::full({6}, 2.0);
  Tensor out = shunt::empty({0}, shunt::kFloat);
  find<Tensor&(const Tensor&, const Tensor&, const Scalar&, Tensor&)>("consumer::addsquare", "out").call(a, b, 1, out);
  bool good = check(out.numel() == 6 && near(out, 5, 9, 0), "out=");
  Tensor self = a.clone();
  find<Tensor&(Tensor&, const Tensor&, const Scalar&)>("consumer::addsquare_").call(self, b, -1);
  return good & check(near(self, 5, 1, 0), "the in-place form");
}

}  // namespace

bool functorsWork() {
  bool good = unaryWorks();
  good &= binaryWorks();
  return good & givenOutputsWork();
}
