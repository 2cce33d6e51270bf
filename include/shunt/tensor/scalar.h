// Scalar: one number that is not a tensor: a bool, an int64 or a double. A value type; any thread.
#pragma once

#include <shunt/core/error.h>
#include <shunt/tensor/scalar_type.h>

#include <cmath>
#include <complex>
#include <concepts>
#include <limits>

namespace shunt {

/// A size. In PyTorch it may be symbolic; here it is always a number.
class SymInt {
 public:
  SymInt(int64_t v) : value_(v) {}
  /// The number.
  int64_t expect_int() const { return value_; }

 private:
  int64_t value_;
};

class SHUNT_API Scalar {
 public:
  constexpr Scalar() : Scalar(int64_t{0}) {}
  template <std::floating_point T>
  constexpr Scalar(T v) : kind_(Kind::kFloating), d_(v) {}
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  constexpr Scalar(T v) : kind_(Kind::kIntegral), i_(static_cast<int64_t>(v)) {}
  template <std::same_as<bool> T>
  constexpr Scalar(T v) : kind_(Kind::kBoolean), i_(v) {}
  /// Always throws NotImplementedError: Shunt has no complex numbers.
  template <class T>
  Scalar(const std::complex<T>&) {
    throw NotImplementedError("Scalar: there are no complex numbers in Shunt");
  }
  Scalar(SymInt v) : Scalar(v.expect_int()) {}
  Scalar(Half v) : Scalar(static_cast<float>(v)) {}
  Scalar(BFloat16 v) : Scalar(static_cast<float>(v)) {}

  /// The kind of number that it holds.
  constexpr bool isFloatingPoint() const { return kind_ == Kind::kFloating; }
  constexpr bool isIntegral(bool include_bool) const {
    return kind_ == Kind::kIntegral || (include_bool && kind_ == Kind::kBoolean);
  }
  /// Whether it is a bool.
  constexpr bool isBoolean() const { return kind_ == Kind::kBoolean; }
  /// kDouble, kLong or kBool.
  constexpr ScalarType type() const {
    return kind_ == Kind::kFloating ? kDouble : kind_ == Kind::kIntegral ? kLong : kBool;
  }

  /// The number as floating-point. Integers above 2^53 are rounded.
  constexpr float toFloat() const { return static_cast<float>(toDouble()); }
  constexpr double toDouble() const { return kind_ == Kind::kFloating ? d_ : static_cast<double>(i_); }
  /// Truncates a double. Throws when the result does not fit, also for NaN.
  int64_t toLong() const {
    if (kind_ != Kind::kFloating) return i_;
    SHUNT_CHECK(fitsLong(), "value cannot be converted to type int64_t without overflow: ", d_);
    return static_cast<int64_t>(d_);
  }
  /// toInt and toHalf throw when the number does not fit.
  int32_t toInt() const { return to<int32_t>(); }
  Half toHalf() const { return toWithoutOverflow<Half>(); }
  SymInt toSymInt() const { return toLong(); }
  constexpr bool isSymInt() const { return false; }
  constexpr bool toBool() const { return kind_ == Kind::kFloating ? d_ != 0 : i_ != 0; }

  /// The value as T. To bool: whether it is not 0. Throws when an integer T cannot hold it.
  template <class T>
  T to() const {
    if constexpr (std::is_same_v<T, bool>)
      return toBool();
    else if constexpr (std::is_same_v<T, double>)
      return toDouble();
    else if constexpr (std::is_integral_v<T>)
      return toIntegral<T>();
    else
      return T(static_cast<float>(toDouble()));
  }

  /// The same, but also throws when a finite value is too large for a floating-point T. to() returns infinity then.
  template <class T>
  T toWithoutOverflow() const {
    if constexpr (!std::is_arithmetic_v<T> && !requires { detail::ScalarTypeOf<T>::value; }) {
      throw NotImplementedError("item(): Shunt has no numbers of this C++ type");
    } else {
      if constexpr (!std::is_integral_v<T> && !std::is_same_v<T, double>) {
        const double v = toDouble();
        SHUNT_CHECK(!std::isfinite(v) || std::abs(v) <= static_cast<double>(std::numeric_limits<T>::max()),
                    "value cannot be converted to type ", toString(scalar_type_of<T>), " without overflow: ", v);
      }
      return to<T>();
    }
  }

  Scalar operator-() const {
    SHUNT_CHECK(!isBoolean(), "Negation, the `-` operator, on a bool scalar is not supported.");
    return kind_ == Kind::kFloating ? Scalar(-d_) : Scalar(static_cast<int64_t>(-static_cast<uint64_t>(i_)));
  }
  /// A complex number without an imaginary part, its conjugate, and comparison with a complex number.
  std::complex<double> toComplexDouble() const { return toDouble(); }
  Scalar conj() const { return *this; }
  template <class T>
  bool equal(const std::complex<T>& v) const {
    return v.imag() == 0 && equal(v.real());
  }
  /// Whether both are the same number, of any type. A bool equals bools only.
  template <class T>
  bool equal(T v) const {
    if (isBoolean() || std::is_same_v<T, bool>) return isBoolean() && std::is_same_v<T, bool> && toBool() == bool(v);
    return isFloatingPoint() ? d_ == static_cast<double>(v) : i_ == static_cast<int64_t>(v) && static_cast<T>(i_) == v;
  }

 private:
  enum class Kind : uint8_t { kFloating, kIntegral, kBoolean };
  bool fitsLong() const {
    return kind_ != Kind::kFloating || (d_ >= -9223372036854775808.0 && d_ < 9223372036854775808.0);
  }
  template <class T>
  T toIntegral() const {
    if constexpr (std::is_unsigned_v<T>)  // toLong() would name int64_t
      SHUNT_CHECK(fitsLong(), "value cannot be converted to type uint8_t without overflow: ", d_);
    else if constexpr (sizeof(T) < sizeof(int64_t))
      SHUNT_CHECK(fitsLong(), "value cannot be converted to type ", toString(scalar_type_of<T>),
                  " without overflow: ", d_);
    const int64_t v = toLong();
    // Negative integers wrap in unsigned targets, as in PyTorch (a - b is a + 255 * b). Negative doubles don't fit.
    if constexpr (std::is_unsigned_v<T>)
      SHUNT_CHECK((kind_ != Kind::kFloating || d_ >= 0) && v >= -static_cast<int64_t>(std::numeric_limits<T>::max()) &&
                      v <= static_cast<int64_t>(std::numeric_limits<T>::max()),
                  "value cannot be converted to type uint8_t without overflow: ", v);
    else
      SHUNT_CHECK(v >= std::numeric_limits<T>::min() && v <= std::numeric_limits<T>::max(),
                  "value cannot be converted to type ", toString(scalar_type_of<T>), " without overflow: ", v);
    return static_cast<T>(v);
  }

  Kind kind_;
  union {
    double d_;
    int64_t i_;
  };
};

SHUNT_API std::ostream& operator<<(std::ostream& out, const Scalar& s);

}  // namespace shunt
