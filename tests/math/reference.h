// MPFR's values of the functions under test, and the distance to them in ULPs. Test code; any thread.
//
// MPFR takes microseconds a value. So a dense sweep is screened with the C library in the next wider type (double for
// float, long double for double), whose error is below 2^-9 ULP of the narrow one; MPFR then judges what comes near the
// bound, and a regular sample of the rest.
#pragma once

#include <mpfr.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace shunt::math_test {

template <class T>
using Wider = std::conditional_t<std::is_same_v<T, float>, double, long double>;

struct Reference {
  const char* name;
  int (*exact)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);
  double (*screen_double)(double);
  long double (*screen_long_double)(long double);
  /// The documented bounds in ULPs.
  double bound_float, bound_double;

  template <class T>
  Wider<T> screen(T x) const {
    if constexpr (std::is_same_v<T, float>)
      return screen_double(x);
    else
      return screen_long_double(x);
  }
  template <class T>
  double bound() const {
    return std::is_same_v<T, float> ? bound_float : bound_double;
  }
};

extern const Reference kReferences[23];

/// A number with enough bits that rounding it is of no account.
class Exact {
 public:
  Exact() { mpfr_init2(value_, 120); }
  ~Exact() { mpfr_clear(value_); }
  Exact(const Exact&) = delete;
  Exact& operator=(const Exact&) = delete;
  mpfr_ptr get() { return value_; }

 private:
  mpfr_t value_;
};

/// The unit in the last place of T at |value|, subnormals included.
template <class T, class W>
W ulpAt(W value) {
  int exponent = 0;
  std::frexp(value, &exponent);
  const int lowest = std::numeric_limits<T>::min_exponent - std::numeric_limits<T>::digits;
  return std::ldexp(W{1}, std::max(exponent - std::numeric_limits<T>::digits, lowest));
}

/// |computed - expected| in ULPs of T. Where the expected value is outside T's range or not finite, `computed` must be
/// what rounding gives or its neighbour (0 ULP), else the distance is infinite.
template <class T, class W>
double ulpError(T computed, W expected) {
  constexpr double kWrong = std::numeric_limits<double>::infinity();
  constexpr W kHalfUlpAboveMax = std::numeric_limits<T>::max() * (W{1} + std::numeric_limits<T>::epsilon() / W{4});
  if (std::isnan(expected) || std::isnan(computed)) return std::isnan(expected) && std::isnan(computed) ? 0 : kWrong;
  if (std::isinf(expected)) return computed == static_cast<T>(expected) ? 0 : kWrong;
  if (std::isinf(computed))
    return std::fabs(expected) >= kHalfUlpAboveMax && (computed > 0) == (expected > 0) ? 0 : kWrong;
  if (expected == 0) return computed == 0 && std::signbit(computed) == std::signbit(expected) ? 0 : kWrong;
  return static_cast<double>(std::fabs(static_cast<W>(computed) - expected) / ulpAt<T>(expected));
}

/// ulpError against MPFR. The difference is formed in MPFR.
template <class T>
double ulpErrorExact(T computed, mpfr_ptr expected) {
  const Wider<T> rounded = [&] {
    if constexpr (std::is_same_v<T, float>)
      return mpfr_get_d(expected, MPFR_RNDN);
    else
      return mpfr_get_ld(expected, MPFR_RNDN);
  }();
  if (!std::isfinite(computed) || !mpfr_number_p(expected) || mpfr_zero_p(expected)) return ulpError(computed, rounded);
  Exact difference;
  mpfr_sub_d(difference.get(), expected, static_cast<double>(computed), MPFR_RNDN);
  mpfr_abs(difference.get(), difference.get(), MPFR_RNDN);
  int exponent = static_cast<int>(mpfr_get_exp(expected));
  const int lowest = std::numeric_limits<T>::min_exponent - std::numeric_limits<T>::digits;
  mpfr_mul_2si(difference.get(), difference.get(), -std::max(exponent - std::numeric_limits<T>::digits, lowest),
               MPFR_RNDN);
  return mpfr_get_d(difference.get(), MPFR_RNDN);
}

}  // namespace shunt::math_test
