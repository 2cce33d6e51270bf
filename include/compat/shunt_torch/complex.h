// Complex numbers, which Shunt doesn't have: the names, so that sources that mention them compile. Using one throws
// NotImplementedError.
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
/// 2 * z: std::complex has no product with an integer.
template <std::integral I, class T>
std::complex<T> operator*(I number, const std::complex<T>& z) {
  return static_cast<T>(number) * z;
}
inline Tensor view_as_complex(const Tensor&) { throwComplex("view_as_complex"); }
inline Tensor view_as_real(const Tensor&) { throwComplex("view_as_real"); }

}  // namespace shunt
