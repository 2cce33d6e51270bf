// LAPACK's factorisations and solutions, from the library that blas.h loads: OpenBLAS has both.
//
// Matrices are column-major: element (i, j) is a[i + j * ld]. LAPACK's own conventions hold: pivots count from 1, and
// info is 0, or the place, from 1, of the pivot or leading minor that ended or spoilt the work. One call runs in its
// thread alone (Note [Threads of the BLAS]), so a result depends on the operands and the CPU's kernels only. Any
// thread.
#pragma once

#include <cstdint>

namespace shunt::linalg {

/// Fortran's INTEGER, as OpenBLAS is built without INTERFACE64.
using LapackInt = int32_t;

/// How a factor is applied to the right sides.
struct Triangle {
  bool left;        // A @ X = B, not X @ A = B
  bool upper;       // which triangle of A is read
  bool unit;        // the diagonal is ones, and isn't read
  bool transposed;  // A's transpose stands in the equation
};

// T is float or double; sizes are at least 1 and fit LapackInt (checkLapackSize).

/// A = P L U in place, A being n x n. The result is info: the first diagonal element of U that is exactly 0, or 0.
template <class T>
LapackInt luFactor(int64_t n, T* a, LapackInt* pivots);
/// B (n x k) = the solution of A X = B, or of A^T X = B, by luFactor's results.
template <class T>
void luSolve(bool transposed, int64_t n, int64_t k, const T* lu, const LapackInt* pivots, T* b);
/// The Cholesky factor in the upper or lower triangle, of which alone is read; the other triangle stays as it was.
template <class T>
LapackInt choleskyFactor(bool upper, int64_t n, T* a);
/// B (rows x columns) = the solution; a zero on the diagonal gives infinities and NaNs.
template <class T>
void triangularSolve(const Triangle& triangle, int64_t rows, int64_t columns, const T* a, T* b);

/// Throws where a matrix of this size is beyond LAPACK.
void checkLapackSize(const char* name, int64_t n);

}  // namespace shunt::linalg
