// What the kernels that add to chosen elements share. Values made for one call, on its thread.
#pragma once

#include "generated/native_functions.h"
#include "kernels/common/overlap.h"
#include "kernels/common/strided_walk.h"
#include "kernels/common/view_util.h"

#include <shunt/elementwise/cast.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

namespace shunt::native {

/// Elements of a tensor of T while they are added to, in a type A that keeps small terms: bfloat16 has no 257, so that
/// ones added to it one by one would stop at 256. store() rounds each once. An A that is T needs no room of its own.
///
/// Few of many elements may be asked for, or each of them often. So sums are kept by pages of neighbours, which a table
/// over the tensor's extent names: an array is read faster than a map, and pages and parts of the table that nobody
/// asks for take no memory. Only elements that were asked for are read and written: others may be of other tensors
/// between this one's strides, or another thread's.
template <class T, class A = opmath_t<T>>
class Sums {
 public:
  /// `to` has elements, which it may repeat, and outlives the sums.
  explicit Sums(const TensorImpl& to) : first_(reinterpret_cast<T*>(to.data())) {
    if constexpr (kInPlace) return;
    size_t extent = 1;
    for (size_t d = 0; d < to.sizes().size(); ++d) extent += static_cast<size_t>((to.sizes()[d] - 1) * to.strides()[d]);
    // calloc, since it need not write what it has just got from the system.
    table_.reset(static_cast<Page**>(std::calloc(extent / kPage + 1, sizeof(Page*))));
    if (!table_) throw std::bad_alloc();
  }

  A& operator[](T& place) {
    if constexpr (kInPlace) {
      return place;
    } else {
      const auto offset = static_cast<size_t>(&place - first_), at = offset % kPage;
      Page*& page = table_[offset / kPage];
      if (page == nullptr) page = newPage(first_ + (offset - at));
      const auto bit = Asked{1} << at;
      if ((page->asked & bit) == 0) {
        page->asked |= bit;
        page->sums[at] = cast<A>(place);
      }
      return page->sums[at];
    }
  }

  void store() {
    if constexpr (!kInPlace) {
      for (size_t i = 0; i < blocks_.size(); ++i) {
        const size_t used = i + 1 < blocks_.size() ? sizeOf(i) : used_;
        for (const Page* page = blocks_[i].get(); page != blocks_[i].get() + used; ++page) store(*page);
      }
    }
  }

 private:
  static constexpr bool kInPlace = std::is_same_v<A, T>;
  static constexpr size_t kPage = 64;  // elements
  static constexpr size_t kLargestBlock = 256;

  using Asked = uint64_t;  // a bit for each element
  struct Page {
    Asked asked;
    T* first;
    A sums[kPage];
  };
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };

  /// Pages of the block: blocks double, so that a few sums take little room and many few calls.
  static size_t sizeOf(size_t block) { return std::min(size_t{4} << std::min<size_t>(block, 16), kLargestBlock); }

  Page* newPage(T* first) {
    if (blocks_.empty() || used_ == sizeOf(blocks_.size() - 1)) {
      blocks_.push_back(std::make_unique_for_overwrite<Page[]>(sizeOf(blocks_.size())));
      used_ = 0;
    }
    Page* const page = blocks_.back().get() + used_++;
    page->asked = 0;
    page->first = first;
    return page;
  }

  static void store(const Page& page) {
    if (page.asked == ~Asked{0}) {
      for (size_t i = 0; i < kPage; ++i) page.first[i] = cast<T>(page.sums[i]);
      return;
    }
    for (Asked left = page.asked; left != 0; left &= left - 1) {
      const auto i = static_cast<size_t>(std::countr_zero(left));
      page.first[i] = cast<T>(page.sums[i]);
    }
  }

  T* const first_;
  std::unique_ptr<Page*[], Free> table_;
  std::vector<std::unique_ptr<Page[]>> blocks_;
  size_t used_ = 0;  // pages of the last block
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
