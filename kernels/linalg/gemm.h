// gemm: the one function behind every matrix product, C = alpha * A * B + beta * C.
//
// Matrices are row-major with a leading dimension, or transposed (column-major). float and double go to OpenBLAS, small
// ones to LIBXSMM's code (small_gemm.h), those of one row or column to whatever is fastest (one_row.h); bfloat16 to
// oneDNN where that has code for the CPU, else like Half by way of float; integers to plain loops. The libraries'
// threads are off: large products are cut into fixed blocks of rows for parallelFor, so results don't depend on the
// number of threads (which block an element is in depends on the shape only). beta = 0 never reads C. Any thread.
//
// Note [Products and the CPU]
// The libraries choose their kernels by CPU, so the bits of a product of floating-point matrices may differ between
// CPUs, unlike those of all other operators. On one CPU they depend on the operands alone: a thunk calls the function
// that the interpreter calls.
#pragma once

#include <shunt/core/macros.h>
#include <shunt/tensor/scalar_type.h>

#include <cstdint>

namespace shunt::linalg {

/// A matrix operand: element (i, j) is data[i * ld + j], or data[j * ld + i] when transposed.
template <class T>
struct MatrixView {
  const T* data;
  int64_t ld;
  bool transposed;
};

/// alpha and beta in the type that the product is computed in.
template <class T>
struct GemmScalar {
  using type = T;
};
template <>
struct GemmScalar<BFloat16> {
  using type = float;
};
template <>
struct GemmScalar<Half> {
  using type = float;
};

/// C is m x n with leading dimension ldc, A is m x k, B is k x n. Defined for float, double, BFloat16, Half, uint8_t,
/// int8_t, int16_t, int32_t and int64_t. (Exported for bench/compile.)
template <class T>
SHUNT_API void gemm(int64_t m, int64_t n, int64_t k, typename GemmScalar<T>::type alpha, MatrixView<T> a,
                    MatrixView<T> b, typename GemmScalar<T>::type beta, T* c, int64_t ldc);

/// One product of a batch that is itself shared among threads: the same bits, no threads.
template <class T>
void gemmSerial(int64_t m, int64_t n, int64_t k, typename GemmScalar<T>::type alpha, MatrixView<T> a, MatrixView<T> b,
                typename GemmScalar<T>::type beta, T* c, int64_t ldc);

/// `count` products of one shape, whose matrices lie the given distances apart in memory: each as gemmSerial makes it,
/// with what is the same for all looked up once.
template <class T>
void gemmSerialEach(int64_t count, int64_t m, int64_t n, int64_t k, typename GemmScalar<T>::type alpha, MatrixView<T> a,
                    int64_t a_distance, MatrixView<T> b, int64_t b_distance, typename GemmScalar<T>::type beta, T* c,
                    int64_t ldc, int64_t c_distance);

/// The same, shared among threads where that is worth it; one product as gemm makes it. C's matrices lie one after the
/// other, without gaps.
template <class T>
void gemmEach(int64_t count, int64_t m, int64_t n, int64_t k, typename GemmScalar<T>::type alpha, MatrixView<T> a,
              int64_t a_distance, MatrixView<T> b, int64_t b_distance, typename GemmScalar<T>::type beta, T* c);

/// The product by OpenBLAS's gemm, whatever its shape. Nothing is empty.
void blasGemm(int64_t m, int64_t n, int64_t k, float alpha, MatrixView<float> a, MatrixView<float> b, float beta,
              float* c, int64_t ldc);
void blasGemm(int64_t m, int64_t n, int64_t k, double alpha, MatrixView<double> a, MatrixView<double> b, double beta,
              double* c, int64_t ldc);

/// y = alpha * A * x + beta * y for an m x k matrix, by OpenBLAS's gemv; strides in elements.
void gemv(int64_t m, int64_t k, float alpha, MatrixView<float> a, const float* x, int64_t x_stride, float beta,
          float* y);
void gemv(int64_t m, int64_t k, double alpha, MatrixView<double> a, const double* x, int64_t x_stride, double beta,
          double* y);
float dot(int64_t n, const float* x, int64_t x_stride, const float* y, int64_t y_stride);
double dot(int64_t n, const double* x, int64_t x_stride, const double* y, int64_t y_stride);

/// gemm by oneDNN. Kernels are kept per shape. False where oneDNN has none for this shape on this CPU: nothing was done
/// then.
[[nodiscard]] bool gemmBFloat16(int64_t m, int64_t n, int64_t k, float alpha, MatrixView<BFloat16> a,
                                MatrixView<BFloat16> b, float beta, BFloat16* c, int64_t ldc);
/// Whether it has kernels at all: for tests.
SHUNT_API bool oneDnnMultipliesBFloat16();

}  // namespace shunt::linalg
