// What the kernels that add to chosen elements share. Values made for one call, on its thread.
#pragma once

#include "generated/native_functions.h"
#include "kernels/common/overlap.h"
#include "kernels/common/strided_walk.h"
#include "kernels/common/view_util.h"

#include <shunt/elementwise/cast.h>

#include <unordered_map>
#include <vector>

namespace shunt::native {

/// Elements of a tensor of T while they are added to, in a type A that keeps small terms: bfloat16 has no 257, so that
/// ones added to it one by one would stop at 256. store() rounds each once. An A that is T needs no room of its own.
template <class T, class A = opmath_t<T>>
class Sums {
 public:
  /// `to` outlives the sums and may repeat elements. At most `additions` of its elements will be asked for.
  Sums(const TensorImpl& to, int64_t additions) : to_(to), first_(reinterpret_cast<T*>(to.data())) {
    if constexpr (kInPlace) return;
    int64_t extent = 1;
    for (size_t d = 0; d < to.sizes().size(); ++d) extent += (to.sizes()[d] - 1) * to.strides()[d];
    if (extent > additions * kMostElementsEach) return;  // few of many: only what is asked for is kept
    dense_.resize(static_cast<size_t>(extent));
    forEachPlace([&](T& place) { dense_[static_cast<size_t>(&place - first_)] = cast<A>(place); });
  }

  A& operator[](T& place) {
    if constexpr (kInPlace) {
      return place;
    } else {
      if (!dense_.empty()) return dense_[static_cast<size_t>(&place - first_)];
      return sparse_.try_emplace(&place, cast<A>(place)).first->second;
    }
  }

  void store() {
    if constexpr (!kInPlace) {
      for (const auto& [place, sum] : sparse_) *place = cast<T>(sum);
      if (!dense_.empty())
        forEachPlace([&](T& place) { place = cast<T>(dense_[static_cast<size_t>(&place - first_)]); });
    }
  }

 private:
  static constexpr bool kInPlace = std::is_same_v<A, T>;
  static constexpr int64_t kMostElementsEach = 64;  // a table's entry costs as much as about so many conversions

  template <class F>
  void forEachPlace(const F& f) {
    const auto dims = std::max<size_t>(to_.sizes().size(), 1);
    const int64_t whole = 1;
    forEachRunTogether<1>(to_.dim() == 0 ? IntArrayRef(&whole, 1) : to_.sizes(), {walkedOf(to_, dims)},
                          [&](std::array<std::byte*, 1> at, const std::array<int64_t, 1>& strides, int64_t n) {
                            for (int64_t i = 0; i < n; ++i, at[0] += strides[0]) f(*reinterpret_cast<T*>(at[0]));
                          });
  }

  const TensorImpl& to_;
  T* const first_;
  std::vector<A> dense_;  // from the first element in memory to the last
  std::unordered_map<T*, A> sparse_;
};

/// sum += term; of bools, or.
template <class A>
void addTo(A& sum, const A& term) {
  if constexpr (std::is_same_v<A, bool>)
    sum = sum | term;
  else
    sum = static_cast<A>(sum + term);
}

/// A tensor to read while `written` is written: a copy where they meet in memory.
inline Tensor readableBeside(const Tensor& t, const TensorImpl& written) {
  const TensorImpl& impl = *t.unsafeGetTensorImpl();
  if (elementwise::areDisjoint(written, impl)) return t;
  return native::clone(t, MemoryFormat::Contiguous);
}

}  // namespace shunt::native
