// MatrixProduct: mm, addmm and bmm on raw memory, for callers that bypass the operators.
//
// A MatrixProduct is made once for matrices of certain layouts and is constant then. Any thread may call run(), on
// memory of the caller's. It shares large products among threads, as the operators do.
#pragma once

#include <shunt/core/macros.h>
#include <shunt/tensor/scalar_type.h>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace shunt::elementwise {

/// The shape of a matrix and its strides in elements.
struct MatrixLayout {
  int64_t rows = 0, columns = 0, row_stride = 0, column_stride = 0;
};

class MatrixProduct {
 public:
  /// alpha * a @ b + beta * out. Empty if the dtype isn't Float or Double, if the operators would copy an operand
  /// first, or if the shapes don't match.
  SHUNT_API static std::optional<MatrixProduct> of(ScalarType dtype, const MatrixLayout& a, const MatrixLayout& b,
                                                   double beta, double alpha);
  /// `count` products a @ b. The distances, in elements, are those from one matrix to the next; those of `out` follow
  /// without gaps.
  SHUNT_API static std::optional<MatrixProduct> ofEach(ScalarType dtype, int64_t count, const MatrixLayout& a,
                                                       int64_t a_distance, const MatrixLayout& b, int64_t b_distance);
  /// Gives the operators' bits. `out` is contiguous, shares no memory with the operands, and isn't read if beta is 0.
  void run(const std::byte* a, const std::byte* b, std::byte* out) const { function_(*this, a, b, out); }

 private:
  template <class T>
  static void multiply(const MatrixProduct& p, const std::byte* a, const std::byte* b, std::byte* out);
  template <class T>
  static void multiplyEach(const MatrixProduct& p, const std::byte* a, const std::byte* b, std::byte* out);
  template <class T>
  static void multiplyByDots(const MatrixProduct& p, const std::byte* a, const std::byte* b, std::byte* out);
  static void multiplyByKernel(const MatrixProduct& p, const std::byte* a, const std::byte* b, std::byte* out);
  template <class T>
  void chooseWay();

  void (*function_)(const MatrixProduct&, const std::byte*, const std::byte*, std::byte*) = nullptr;
  int64_t m_ = 0, n_ = 0, k_ = 0, a_stride_ = 0, b_stride_ = 0;  // leading dimensions
  int64_t count_ = 1, a_distance_ = 0, b_distance_ = 0;
  double beta_ = 0, alpha_ = 1;
  bool a_transposed_ = false, b_transposed_ = false;
  bool of_column_ = false;                                             // a is a matrix, b a single column
  void (*kernel_)(const void* b, const void* a, void* out) = nullptr;  // for multiplyByKernel
};

}  // namespace shunt::elementwise
