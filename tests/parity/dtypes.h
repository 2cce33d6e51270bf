// The ten dtypes by PyTorch's numbers: names, sizes, and elements to and from double. Constants and pure functions.
#pragma once

#include <shunt/tensor/scalar_type.h>

#include <cstring>
#include <string>
#include <vector>

namespace parity {

inline const std::vector<int>& allDtypes() {
  static const std::vector<int> dtypes{11, 0, 1, 2, 3, 4, 5, 15, 6, 7};
  return dtypes;
}
inline bool isFloating(int dtype) { return shunt::isFloatingType(static_cast<shunt::ScalarType>(dtype)); }
inline size_t itemSize(int dtype) {
  return static_cast<size_t>(shunt::elementSize(static_cast<shunt::ScalarType>(dtype)));
}
/// "float32"
std::string dtypeName(int dtype);
/// "kFloat", the spelling of both libraries.
std::string dtypeConstant(int dtype);
/// -1 when no dtype has this name.
int dtypeFromName(std::string_view name);

/// Rounds, or truncates and wraps.
void storeElement(int dtype, double value, uint8_t* at);
/// Integers beyond 2^53 lose bits; the comparison looks at bytes first.
double loadElement(int dtype, const uint8_t* at);
int64_t loadInteger(int dtype, const uint8_t* at);
/// The distance from 1 to the next number; 0 for integers.
double epsilonOf(int dtype);

}  // namespace parity
