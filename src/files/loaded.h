// Tensors made from what a file says of them. Any thread.
#pragma once

#include "src/files/about_tensor.h"

#include <shunt/tensor/tensor.h>

#include <vector>

namespace shunt::files {

inline constexpr size_t kMostDimensions = 64;

using Sizes = std::vector<int64_t>;

/// The bytes of a tensor of these sizes; throws where no memory could hold it.
uint64_t bytesOf(const AboutTensor& about, const Sizes& sizes, ScalarType dtype);

/// A tensor of memory that nobody has written to yet; row-major without strides.
Tensor newTensor(const AboutTensor& about, const Sizes& sizes, const Sizes& strides, ScalarType dtype);

/// Throws where bytes of bools, of which the first is element `first`, are neither 0 nor 1: no C++ bool is.
void checkBools(const AboutTensor& about, const std::byte* bytes, size_t n, uint64_t first = 0);

/// What the program gets of a tensor that was read, whatever mode it is in.
Tensor given(Tensor read);

/// Throws while compile() records.
void refuseToBeRecorded(const AboutFile& about);

}  // namespace shunt::files
