// Complex numbers, which Shunt hasn't: names for sources that mention them, and errors where they use them.
#pragma once

#include <shunt/shunt.h>

#include <complex>
#include <concepts>
#include <string>

namespace shunt {

inline constexpr ScalarType kComplexFloat = ScalarType::ComplexFloat, kComplexDouble = ScalarType::ComplexDouble;

[[noreturn]] inline void throwComplex(const char* name) {
  throw NotImplementedError(std::string(name) + ": there are no complex numbers in Shunt");
}
/// 2 * z, which std::complex lacks for other types of the number.
template <std::integral I, class T>
std::complex<T> operator*(I number, const std::complex<T>& z) {
  return static_cast<T>(number) * z;
}
inline Tensor view_as_complex(const Tensor&) { throwComplex("view_as_complex"); }
inline Tensor view_as_real(const Tensor&) { throwComplex("view_as_real"); }

}  // namespace shunt
