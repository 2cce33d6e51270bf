// One row times a transposed matrix, as the dot products that it is: for sizes at which a library's call costs more
// than its work.
//
// For AVX2, which every CPU with more has too. Eight rows of the matrix at a time, each with one register of sums,
// which are added up as a fixed tree: the bits depend on k alone. Any thread.
#pragma once

#include <cstdint>

namespace shunt::linalg {

/// y[j] = sum over l of w[j * ld + l] * x[l], + beta * y[j] unless beta is 0, for j < n. False, and nothing done, where
/// the instruction set in use has no AVX2.
bool rowDots(int64_t n, int64_t k, const float* w, int64_t ld, const float* x, float beta, float* y);
bool rowDots(int64_t n, int64_t k, const double* w, int64_t ld, const double* x, double beta, double* y);

}  // namespace shunt::linalg
