#include "tests/math/reference.h"

#include <cmath>

namespace shunt::math_test {
namespace {

int sigmoidExact(mpfr_ptr out, mpfr_srcptr x, mpfr_rnd_t rounding) {
  Exact wide;
  mpfr_set_prec(wide.get(), 400);
  mpfr_neg(wide.get(), x, MPFR_RNDN);
  mpfr_exp(wide.get(), wide.get(), MPFR_RNDN);
  mpfr_add_ui(wide.get(), wide.get(), 1, MPFR_RNDN);
  return mpfr_ui_div(out, 1, wide.get(), rounding);
}

template <class W>
W sigmoidScreen(W x) {
  if (std::isnan(x)) return x;
  const W e = std::exp(-std::fabs(x));
  return (x < 0 ? e : W{1}) / (W{1} + e);
}

// IEEE: rsqrt(-0) = -inf, which MPFR's rec_sqrt has as +inf.
int rsqrtExact(mpfr_ptr out, mpfr_srcptr x, mpfr_rnd_t rounding) {
  const int result = mpfr_rec_sqrt(out, x, rounding);
  if (mpfr_zero_p(x)) mpfr_set_inf(out, mpfr_signbit(x) ? -1 : 1);
  return result;
}

}  // namespace

#define SHUNT_REFERENCE(name, of_float, of_double)                 \
  {#name,    mpfr_##name, [](double x) { return std::name(x); }, [](long double x) { return std::name(x); }, \
   of_float, of_double}

const Reference kReferences[23] = {
    SHUNT_REFERENCE(exp, 1.0, 2.0),
    SHUNT_REFERENCE(log, 1.0, 2.0),
    SHUNT_REFERENCE(tanh, 1.0, 2.0),
    SHUNT_REFERENCE(erf, 1.0, 2.0),
    SHUNT_REFERENCE(sin, 1.0, 2.0),
    SHUNT_REFERENCE(cos, 1.0, 2.0),
    SHUNT_REFERENCE(expm1, 2.0, 2.0),
    SHUNT_REFERENCE(log1p, 2.0, 2.0),
    {"sigmoid", sigmoidExact, sigmoidScreen<double>, sigmoidScreen<long double>, 2.5, 2.5},
    {"rsqrt", rsqrtExact, [](double x) { return 1 / std::sqrt(x); }, [](long double x) { return 1 / std::sqrt(x); },
     1.5, 1.5},
    SHUNT_REFERENCE(tan, 1.0, 3.0),
    SHUNT_REFERENCE(asin, 1.0, 3.0),
    SHUNT_REFERENCE(acos, 1.0, 3.0),
    SHUNT_REFERENCE(atan, 1.0, 3.0),
    SHUNT_REFERENCE(sinh, 1.0, 3.0),
    SHUNT_REFERENCE(cosh, 1.0, 2.0),
    SHUNT_REFERENCE(asinh, 1.0, 2.0),
    SHUNT_REFERENCE(acosh, 1.0, 2.0),
    SHUNT_REFERENCE(atanh, 1.0, 2.0),
    SHUNT_REFERENCE(exp2, 1.0, 2.0),
    SHUNT_REFERENCE(log2, 1.0, 2.0),
    SHUNT_REFERENCE(log10, 1.0, 2.0),
    SHUNT_REFERENCE(erfc, 1.0, 4.0),
};

}  // namespace shunt::math_test
