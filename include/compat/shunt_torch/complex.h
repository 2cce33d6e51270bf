// Complex numbers, which Shunt hasn't: names for sources that mention them, and errors where they use them.
#pragma once

#include <shunt/shunt.h>

#include <complex>
#include <string>

namespace shunt {

inline constexpr ScalarType kComplexFloat = ScalarType::ComplexFloat, kComplexDouble = ScalarType::ComplexDouble;

[[noreturn]] inline void throwComplex(const char* name) {
  throw NotImplementedError(std::string(name) + ": there are no complex numbers in Shunt");
}
inline Tensor view_as_complex(const Tensor&) { throwComplex("view_as_complex"); }
inline Tensor view_as_real(const Tensor&) { throwComplex("view_as_real"); }

}  // namespace shunt
