// The geometry of a reduction: which axes of the input are walked for each output, and in which order.
//
// Axes of size 1 are dropped, axes that lie in one piece are joined, and axes are sorted so that the innermost has the
// smallest stride (reduced ones only where the order does not matter). Lives on the caller's stack; pure functions.
#pragma once

#include <shunt/tensor/tensor.h>

#include <bitset>

namespace shunt::reduce {

inline constexpr int64_t kMaxDims = 64;
using DimSet = std::bitset<kMaxDims>;

/// The dimensions that `dims` names; all of them when it is unset or empty. Throws on repeated or out-of-range
/// dimensions.
DimSet dimSet(OptionalIntArrayRef dims, int64_t ndim);

/// Sizes of the result of reducing `dims`.
struct OutputSizes {
  OutputSizes(IntArrayRef sizes, const DimSet& dims, bool keepdim);
  IntArrayRef ref() const { return {sizes, static_cast<size_t>(ndim)}; }
  int64_t sizes[kMaxDims];
  int64_t ndim = 0;
};

/// Strides in elements.
struct Axis {
  int64_t size;
  int64_t stride;
  int64_t out_stride;  // of the contiguous output; 0 on reduced axes
};

struct Axes {
  Axis axis[kMaxDims];
  int64_t count = 0;
  int64_t numel = 1;

  void push(Axis a);
  void sortByStride();
  void join();
  bool empty() const { return count == 0; }
  const Axis& inner() const { return axis[count - 1]; }
};

struct Plan {
  /// With `in_order`, reduced axes keep the tensor's order, so that the n-th element is the one with the n-th index.
  Plan(const TensorImpl& self, const DimSet& dims, bool in_order);
  Axes kept;
  Axes reduced;
};

/// Walks the positions of some axes in row-major order.
class Cursor {
 public:
  Cursor(const Axis* axes, int64_t count, int64_t start);
  int64_t offset() const { return offset_; }
  int64_t outOffset() const { return out_offset_; }
  /// Positions along the innermost axis that are left before it wraps around.
  int64_t left() const { return count_ == 0 ? 1 : axes_[count_ - 1].size - index_[count_ - 1]; }
  /// By n <= left() positions.
  void advance(int64_t n);

 private:
  const Axis* axes_;
  int64_t count_;
  int64_t offset_ = 0;
  int64_t out_offset_ = 0;
  int64_t index_[kMaxDims];
};

}  // namespace shunt::reduce
