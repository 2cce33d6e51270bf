// The first thing in which two tensors differ: for SHUNT_COMPILE_CHECK. Calls no operator, so that nothing sees it.
#pragma once

#include <shunt/tensor/tensor.h>

#include <cstdint>
#include <string>

namespace shunt::compiled {

/// For people: "element [1, 2] is 3, expected 4"; "" where both have the same dtype, sizes and bits, and elements of
/// more than one place in the same strides. All NaNs are one. Both are undefined, or dense and on the CPU.
std::string firstDifference(const Tensor& got, const Tensor& expected);

/// Of its dtype, sizes, strides and elements' bits. The tensor is dense and on the CPU.
uint64_t hashOfElements(const Tensor& t);

}  // namespace shunt::compiled
