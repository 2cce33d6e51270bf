// What the operators on batches of square matrices share: their checks, results in LAPACK's order of memory, and LU
// factors. Pure functions of their arguments; any thread.
#pragma once

#include "kernels/linalg/lapack.h"

#include <shunt/tensor/tensor.h>

#include <type_traits>

namespace shunt::linalg {

/// Refuses what isn't a batch of square matrices of floating-point numbers. `name`: as Python calls the function.
void checkSquare(const char* name, const TensorImpl& a);

/// Calls f(std::type_identity<T>) for float and double; NotImplementedError for the 16-bit types.
template <class F>
void dispatchLapackTypes(ScalarType t, const char* kernel, F&& f) {
  if (t == kFloat) return f(std::type_identity<float>{});
  if (t == kDouble) return f(std::type_identity<double>{});
  ::shunt::detail::throwNotImplementedFor(kernel, t);
}

/// Uninitialised, on the device of `like`; each matrix lies column by column.
Tensor newByColumns(const TensorImpl& like, IntArrayRef sizes, ScalarType dtype);
/// A copy of `t`, broadcast to `sizes`, in that order.
Tensor copiedByColumns(const Tensor& t, IntArrayRef sizes);

/// How many matrices, or vectors, `sizes` holds, without its last `dims` dimensions.
int64_t countBatch(IntArrayRef sizes, size_t dims);

/// LU factors of a batch. Of row-major matrices the transposed ones are factored, which are column-major as they are.
struct Factors {
  Tensor lu, pivots, info;
  bool transposed;
};
Factors factorsOf(const Tensor& a);

/// The number of the first matrix of which info isn't 0, or -1. Of data.
int64_t firstFailed(const Tensor& info);
/// "(Batch element 2): " for one of a batch.
std::string batchElement(const Tensor& info, int64_t element);

}  // namespace shunt::linalg
