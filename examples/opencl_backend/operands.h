// How kernels get tensors: a buffer each, and one Layout for all of them. Host and device share its definition.
#pragma once

#include "runtime.h"

#include <shunt/backend.h>

namespace opencl {

constexpr int64_t kMaxDims = 8, kMaxOperands = 5;

/// Sizes, and each operand's strides and offset in elements. In kLayoutSource the same, word for word.
struct Layout {
  cl_long ndim = 0;
  cl_long sizes[kMaxDims] = {};
  cl_long strides[kMaxOperands][kMaxDims] = {};
  cl_long offsets[kMaxOperands] = {};
};

/// Of tensors with the same sizes, or broadcast to the first one's.
inline Layout layoutOf(const std::vector<shunt::Tensor>& operands) {
  Layout l;
  const shunt::IntArrayRef sizes = operands[0].sizes();
  l.ndim = static_cast<cl_long>(sizes.size());
  std::copy(sizes.begin(), sizes.end(), l.sizes);
  for (size_t i = 0; i < operands.size(); ++i) {
    const shunt::Tensor t = operands[i].sizes() == sizes ? operands[i] : operands[i].expand(sizes);
    std::copy(t.strides().begin(), t.strides().end(), l.strides[i]);
    l.offsets[i] = t.storage_offset();
  }
  return l;
}

inline const std::string kLayoutSource = R"(
#pragma OPENCL FP_CONTRACT OFF
typedef struct { long ndim; long sizes[8]; long strides[5][8]; long offsets[5]; } Layout;
// Where element i, counted in row-major order, of an operand lies in its buffer.
long at(const Layout* l, int operand, long i) {
  long place = l->offsets[operand];
  for (long d = l->ndim - 1; d >= 0; --d) {
    place += i % l->sizes[d] * l->strides[operand][d];
    i /= l->sizes[d];
  }
  return place;
}
)";

inline bool onDevice(const shunt::Tensor& t) { return t.defined() && t.device().type() == shunt::kPrivateUse1; }
/// What the arithmetic kernels are written for; the CPU fallback has the rest.
inline bool isServed(const shunt::Tensor& t) {
  return onDevice(t) && t.dtype() == shunt::kFloat && t.dim() <= kMaxDims;
}

}  // namespace opencl
