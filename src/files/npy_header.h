// The header of an .npy file: magic, version, length, and a Python dict of dtype, order and shape, as numpy.lib.format
// describes it. Pure functions.
#pragma once

#include "src/files/about_tensor.h"
#include "src/files/loaded.h"

#include <string>
#include <string_view>

namespace shunt::files {

inline constexpr std::string_view kNpyMagic = "\x93NUMPY";

struct NpyHeader {
  ScalarType dtype = ScalarType::Undefined;
  bool big_endian = false;
  bool fortran_order = false;
  Sizes sizes;
};

/// Throws for a dtype that NumPy doesn't have.
void checkNpyDtype(const AboutTensor& about, ScalarType dtype);

/// Everything before the elements, of a version 1.0 file, for a row-major array; its length is a multiple of 64.
std::string npyPrefix(IntArrayRef sizes, ScalarType dtype);

/// Of the dict, without what stands before it.
NpyHeader parseNpyDict(const AboutTensor& about, std::string_view text);

}  // namespace shunt::files
