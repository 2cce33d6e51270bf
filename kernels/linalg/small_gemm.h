// Small products of floats and doubles, in code that LIBXSMM's generator makes for a shape.
//
// Note [Small products]
// OpenBLAS and LIBXSMM differ in the last bits, so which of them takes a product depends on its shape, its leading
// dimensions, alpha, beta and the instruction set in use alone; never on what ran before, on threads, or on who asks:
// the interpreter and a thunk call the same function. Only LIBXSMM's generator is used: a function from a shape to
// bytes, without threads, settings or memory of its own. Making a kernel takes 1 to 8 us, once in a process for a shape
// (Note [Small kernels], small_kernels.h). LIBXSMM's matrices are column-major, so it computes C^T = B^T * A^T. It
// takes A transposed as it is; B transposed is copied first, where that is worth it.
//
// Any thread.
#pragma once

#include "kernels/linalg/gemm.h"
#include "kernels/linalg/small_kernels.h"

#include <shunt/core/macros.h>

namespace shunt::linalg {

/// False where the product is none of these: nothing was done then.
bool smallGemm(int64_t m, int64_t n, int64_t k, float alpha, MatrixView<float> a, MatrixView<float> b, float beta,
               float* c, int64_t ldc);
bool smallGemm(int64_t m, int64_t n, int64_t k, double alpha, MatrixView<double> a, MatrixView<double> b, double beta,
               double* c, int64_t ldc);

/// `count` of them, whose matrices lie the given distances apart: all or none. The kernel is looked up once.
bool smallGemmEach(int64_t count, int64_t m, int64_t n, int64_t k, float alpha, MatrixView<float> a, int64_t a_distance,
                   MatrixView<float> b, int64_t b_distance, float beta, float* c, int64_t ldc, int64_t c_distance);
bool smallGemmEach(int64_t count, int64_t m, int64_t n, int64_t k, double alpha, MatrixView<double> a,
                   int64_t a_distance, MatrixView<double> b, int64_t b_distance, double beta, double* c, int64_t ldc,
                   int64_t c_distance);

/// The same for one row of k times a k x n matrix, alpha 1, beta any; whether that is worth it is the caller's to know.
bool smallRow(int64_t n, int64_t k, MatrixView<float> a, MatrixView<float> b, float beta, float* c);
bool smallRow(int64_t n, int64_t k, MatrixView<double> a, MatrixView<double> b, double beta, double* c);

/// The kernel for such a product, which may be run (runSmallKernel) as long as the process lives; null where there is
/// none that is kept, or B has to be copied. Whether gemm has it take the product is the caller's to know.
SmallKernel keptSmallKernel(int64_t m, int64_t n, int64_t k, float alpha, MatrixView<float> a, MatrixView<float> b,
                            float beta, int64_t ldc);
SmallKernel keptSmallKernel(int64_t m, int64_t n, int64_t k, double alpha, MatrixView<double> a, MatrixView<double> b,
                            double beta, int64_t ldc);
void runSmallKernel(SmallKernel kernel, const void* a, const void* b, void* c);

/// Whether a kernel could take the product, were it faster.
bool fitsSmallKernel(int64_t m, int64_t n, int64_t k, bool b_transposed, size_t element_size);

/// Whether a product of this shape is one, all else being as usual: for tests.
SHUNT_API bool isSmallProduct(int64_t m, int64_t n, int64_t k, bool a_transposed, bool b_transposed,
                              size_t element_size);
/// Kernels that the process has made, and how many it keeps: for tests.
SHUNT_API uint64_t smallKernelsMade();
SHUNT_API uint64_t smallKernelsKept();

}  // namespace shunt::linalg
