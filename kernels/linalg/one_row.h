// Products of one row, or of one column: n sums of k products, with each element of the matrix used once.
//
// Note [One-row products]
// No library is best at these everywhere. OpenBLAS's gemm packs the matrix first, which costs up to ten times the
// product, unless its kernels for the CPU have ways for small products; its gemv takes the matrix as it lies; LIBXSMM's
// code (small_gemm.h) and dot products of our own (row_dots.h) are best where a call costs more than the product.
// one_row_table.h says which of them takes a product: by OpenBLAS's kernels, the dtype, the order of the matrix's
// elements, n and k; never by what ran before, on threads, or on who asks. alpha other than 1 goes to gemm: gemv
// multiplies the row by it first, which can overflow where the product wouldn't. A column is computed as the row that
// it is transposed. `bench_products` measures the table.
//
// Any thread.
#pragma once

#include "kernels/linalg/gemm.h"

#include <shunt/core/macros.h>

namespace shunt::linalg {

enum class RowEngine : uint8_t { kGemm, kGemv, kSmall, kDots };

/// c = alpha * a * b + beta * c for a row of k and a k x n matrix, both not empty.
void multiplyRow(int64_t n, int64_t k, float alpha, MatrixView<float> a, MatrixView<float> b, float beta, float* c);
void multiplyRow(int64_t n, int64_t k, double alpha, MatrixView<double> a, MatrixView<double> b, double beta,
                 double* c);

/// a * b by this engine; false where it has no way, and nothing was done. For tests, and for measuring.
SHUNT_API bool multiplyRowBy(RowEngine engine, int64_t n, int64_t k, MatrixView<float> a, MatrixView<float> b,
                             float* c);
SHUNT_API bool multiplyRowBy(RowEngine engine, int64_t n, int64_t k, MatrixView<double> a, MatrixView<double> b,
                             double* c);

/// What takes such a product of a row without gaps, all else being as usual.
SHUNT_API RowEngine rowEngine(int64_t n, int64_t k, bool b_transposed, size_t element_size);

}  // namespace shunt::linalg
