// sort, argsort and topk, along one dimension. Always stable: equal elements keep their order. NaN is the largest
// number.
#include "generated/native_functions.h"
#include "kernels/common/result.h"
#include "kernels/common/strided_walk.h"
#include "kernels/common/view_util.h"

#include <shunt/elementwise/cast.h>
#include <shunt/ops.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

namespace shunt::native {
namespace {

template <class T>
bool isBefore(T a, T b) {
  const auto x = cast<opmath_t<T>>(a), y = cast<opmath_t<T>>(b);
  if constexpr (isFloatingType(scalar_type_of<T>))
    return x < y || (y != y && x == x);
  else
    return x < y;
}

/// One lane: n elements that lie `step` bytes apart.
struct Lane {
  std::byte* data;
  int64_t step;
  template <class T>
  T& at(int64_t i) const {
    return *reinterpret_cast<T*>(data + i * step);
  }
};

template <class T>
class LaneSorter {
 public:
  /// Of n elements the first `kept` of the order are written.
  LaneSorter(int64_t n, int64_t kept, bool descending)
      : keys_(std::make_unique<T[]>(static_cast<size_t>(n))),
        order_(static_cast<size_t>(n)),
        kept_(kept),
        descending_(descending) {}

  void sort(Lane from, Lane values, Lane indices) {
    const auto n = static_cast<int64_t>(order_.size());
    for (int64_t i = 0; i < n; ++i) keys_[static_cast<size_t>(i)] = from.at<T>(i);
    std::iota(order_.begin(), order_.end(), int64_t{0});
    const auto key = [&](int64_t i) { return keys_[static_cast<size_t>(i)]; };
    // Equal keys by their place: as stable as a stable sort, without its buffer.
    const auto before = [&](int64_t a, int64_t b) {
      const T x = key(descending_ ? b : a), y = key(descending_ ? a : b);
      return isBefore(x, y) || (a < b && !isBefore(y, x));
    };
    if (kept_ == n)
      std::sort(order_.begin(), order_.end(), before);
    else
      std::partial_sort(order_.begin(), order_.begin() + kept_, order_.end(), before);
    for (int64_t i = 0; i < kept_; ++i) {
      const int64_t source = order_[static_cast<size_t>(i)];
      values.at<T>(i) = key(source);
      indices.at<int64_t>(i) = source;
    }
  }

 private:
  const std::unique_ptr<T[]> keys_;
  std::vector<int64_t> order_;
  const int64_t kept_;
  const bool descending_;
};

void sortLanes(const TensorImpl& self, size_t dim, int64_t kept, bool descending, const TensorImpl& values,
               const TensorImpl& indices) {
  // A tensor without dimensions is one lane of one element.
  std::vector<int64_t> lanes = self.dim() == 0 ? std::vector<int64_t>{1} : self.sizes().vec();
  const int64_t length = std::exchange(lanes[dim], 1);
  const std::array<Walked, 3> operands = {walkedOf(self, lanes.size()), walkedOf(values, lanes.size()),
                                          walkedOf(indices, lanes.size())};
  dispatchAllTypes(self.dtype(), "sort", [&]<class T>(std::type_identity<T>) {
    LaneSorter<T> sorter(length, kept, descending);
    forEachRunTogether<3>(lanes, operands,
                          [&](std::array<std::byte*, 3> at, const std::array<int64_t, 3>& strides, int64_t n) {
                            for (int64_t lane = 0; lane < n; ++lane) {
                              sorter.sort({at[0], operands[0].strides[dim]}, {at[1], operands[1].strides[dim]},
                                          {at[2], operands[2].strides[dim]});
                              for (size_t k = 0; k < 3; ++k) at[k] += strides[k];
                            }
                          });
  });
}

}  // namespace

/// Values and the places where they were, both laid out as `self`.
std::tuple<Tensor, Tensor> sort_stable(const Tensor& self, std::optional<bool> /*stable*/, int64_t dim,
                                       bool descending) {
  const TensorImpl& from = implOf(self, "sort");
  const auto d = static_cast<size_t>(maybe_wrap_dim(dim, from.dim()));
  Tensor values = native::empty_like(self, {}, {}, {}, {}, MemoryFormat::Preserve);
  Tensor indices = native::empty_like(self, kLong, {}, {}, {}, MemoryFormat::Preserve);
  if (hasData(from) && from.numel() != 0)
    sortLanes(from, d, from.dim() == 0 ? 1 : from.sizes()[d], descending, *values.unsafeGetTensorImpl(),
              *indices.unsafeGetTensorImpl());
  return {std::move(values), std::move(indices)};
}

std::tuple<Tensor, Tensor> sort(const Tensor& self, int64_t dim, bool descending) {
  return native::sort_stable(self, false, dim, descending);
}

/// In order whether `sorted` or not: any order will do then.
std::tuple<Tensor, Tensor> topk(const Tensor& self, int64_t k, int64_t dim, bool largest, bool /*sorted*/) {
  const TensorImpl& from = implOf(self, "topk");
  const auto d = static_cast<size_t>(maybe_wrap_dim(dim, from.dim()));
  const int64_t size = from.dim() == 0 ? 1 : from.sizes()[d];
  SHUNT_CHECK(k >= 0 && k <= size, "selected index k out of range: topk() of ", size, " elements was asked for ", k);
  if (from.dtype() == kBool) ::shunt::detail::throwNotImplementedFor("topk_cpu", kBool);
  std::vector<int64_t> sizes = from.sizes().vec();
  if (from.dim() != 0) sizes[d] = k;
  Tensor values = newResult(from, sizes, from.dtype()), indices = newResult(from, sizes, kLong);
  if (hasData(from) && values.numel() != 0)
    sortLanes(from, d, from.dim() == 0 ? 1 : k, largest, *values.unsafeGetTensorImpl(), *indices.unsafeGetTensorImpl());
  return {std::move(values), std::move(indices)};
}

Tensor argsort(const Tensor& self, int64_t dim, bool descending) {
  return std::get<1>(ops::sort::call(self, dim, descending));
}
Tensor argsort_stable(const Tensor& self, bool stable, int64_t dim, bool descending) {
  return std::get<1>(ops::sort_stable::call(self, stable, dim, descending));
}

}  // namespace shunt::native
