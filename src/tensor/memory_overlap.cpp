// Both questions are one: whether there are whole numbers 0 <= x[k] <= most[k] with step[0] * x[0] + ... = total. A
// search from the largest step down, cut where the smaller steps can't reach what is left, or have a common divisor
// that it hasn't. Layouts of real programs, whose steps are multiples of each other or nearly so, take a few tries.
#include <shunt/tensor/memory_overlap.h>

#include <shunt/core/inline_vector.h>

#include <algorithm>
#include <numeric>

namespace shunt {
namespace {

/// Tries after which the search is given up: about a millisecond.
constexpr int64_t kMostTries = 1 << 17;

struct Term {
  int64_t step, most;
  int64_t reach = 0;    // of this and all smaller steps
  int64_t divisor = 0;  // common to this and all smaller steps
};

class Sum {
 public:
  /// step * x with 0 <= x <= most, and x minus something where the step is negative.
  void add(int64_t step, int64_t most) {
    if (step == 0 || most <= 0) return;
    if (step < 0) {
      overflows_ |= __builtin_mul_overflow(-step, most, &reach_) || __builtin_add_overflow(total_, reach_, &total_);
      step = -step;
    }
    for (Term& t : terms_)
      if (t.step == step) return (void)(overflows_ |= __builtin_add_overflow(t.most, most, &t.most));
    terms_.push_back({step, most});
  }
  void addToTotal(int64_t n) { overflows_ |= __builtin_add_overflow(total_, n, &total_); }

  /// Whether the sum can be the total.
  MemoryOverlap canBeTotal() {
    std::sort(terms_.begin(), terms_.end(), [](const Term& a, const Term& b) { return a.step > b.step; });
    int64_t reach = 0, divisor = 0;
    for (size_t k = terms_.size(); k-- > 0;) {
      int64_t its = 0;
      overflows_ |= __builtin_mul_overflow(terms_[k].step, terms_[k].most, &its);
      overflows_ |= __builtin_add_overflow(reach, its, &reach);
      terms_[k].reach = reach;
      terms_[k].divisor = divisor = divisor == 1 ? 1 : std::gcd(divisor, terms_[k].step);
    }
    if (overflows_) return MemoryOverlap::kUnknown;
    tries_ = kMostTries;
    if (reaches(0, total_)) return MemoryOverlap::kSome;
    return tries_ > 0 ? MemoryOverlap::kNone : MemoryOverlap::kUnknown;
  }

 private:
  bool reaches(size_t k, int64_t left) {
    if (left == 0) return true;
    if (left < 0 || k == terms_.size()) return false;
    const Term& t = terms_[k];
    if (left > t.reach || (t.divisor != 1 && left % t.divisor != 0)) return false;
    const int64_t smaller = k + 1 < terms_.size() ? terms_[k + 1].reach : 0;
    const int64_t least = left > smaller ? (left - smaller + t.step - 1) / t.step : 0;
    for (int64_t x = std::min(t.most, left / t.step); x >= least; --x) {
      if (--tries_ <= 0) return false;
      if (reaches(k + 1, left - t.step * x)) return true;
    }
    return false;
  }

  InlineVector<Term, 12> terms_;
  int64_t total_ = 0, reach_ = 0, tries_ = 0;
  bool overflows_ = false;
};

/// Sizes and strides of the dimensions that are more than one element.
bool sameElements(const TensorImpl& a, const TensorImpl& b) {
  const IntArrayRef sizes = a.sizes(), others = b.sizes();
  size_t d = 0, e = 0;
  for (;;) {
    while (d < sizes.size() && sizes[d] == 1) ++d;
    while (e < others.size() && others[e] == 1) ++e;
    if (d == sizes.size() || e == others.size()) return d == sizes.size() && e == others.size();
    if (sizes[d] != others[e] || a.strides()[d] != b.strides()[e]) return false;
    ++d, ++e;
  }
}

bool rangesMeet(const TensorImpl& a, const TensorImpl& b) {
  const auto [begin, end] = memory_range(a);
  const auto [other_begin, other_end] = memory_range(b);
  return begin < other_end && other_begin < end;
}

}  // namespace

std::pair<int64_t, int64_t> memory_range(const TensorImpl& t) {
  int64_t first = 0, last = 0;
  for (size_t d = 0; d < t.sizes().size(); ++d) {
    const int64_t reach = t.strides()[d] * (t.sizes()[d] - 1);
    (reach < 0 ? first : last) += reach;
  }
  return {(t.storage_offset() + first) * t.itemsize(), (t.storage_offset() + last + 1) * t.itemsize()};
}

MemoryOverlap memory_overlap(const TensorImpl& a, const TensorImpl& b) {
  if (a.numel() == 0 || b.numel() == 0 || a.storage() != b.storage()) return MemoryOverlap::kNone;
  const int64_t bytes = a.itemsize(), others = b.itemsize();
  if (bytes == others && a.storage_offset() == b.storage_offset() && sameElements(a, b)) return MemoryOverlap::kSame;
  if (!rangesMeet(a, b)) return MemoryOverlap::kNone;
  Sum sum;
  // In elements where they are of one size: they begin at multiples of it.
  const int64_t unit = bytes == others ? bytes : 1;
  for (size_t d = 0; d < a.sizes().size(); ++d) sum.add(a.strides()[d] * (bytes / unit), a.sizes()[d] - 1);
  for (size_t d = 0; d < b.sizes().size(); ++d) sum.add(-b.strides()[d] * (others / unit), b.sizes()[d] - 1);
  if (unit == 1 && bytes + others > 2) {
    sum.add(1, bytes - 1);
    sum.add(-1, others - 1);
  }
  sum.addToTotal(b.storage_offset() * (others / unit) - a.storage_offset() * (bytes / unit));
  return sum.canBeTotal();
}

// Two places are one where steps of which not all are 0 lead nowhere. The last dimension that such a way moves in,
// whichever it is, it may move in upwards, by one at least; in those before it by any number in either direction.
MemoryOverlap internal_overlap(IntArrayRef sizes, IntArrayRef strides) {
  if (detail::isNested(sizes, strides)) [[likely]]
    return MemoryOverlap::kNone;
  InlineVector<Term, 8> dims;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0) return MemoryOverlap::kNone;
    if (sizes[d] == 1) continue;
    if (strides[d] == 0) return MemoryOverlap::kSome;
    dims.push_back({std::abs(strides[d]), sizes[d] - 1});
  }
  std::sort(dims.begin(), dims.end(), [](const Term& a, const Term& b) { return a.step < b.step; });
  bool nested = true;  // each step leads beyond all that the smaller ones reach, as in slices of dense tensors
  int64_t reach = 0;
  for (const Term& t : dims) {
    nested = nested && t.step > reach;
    reach += t.step * t.most;
  }
  if (nested) return MemoryOverlap::kNone;
  MemoryOverlap found = MemoryOverlap::kNone;
  for (size_t last = 1; last < dims.size(); ++last) {
    Sum sum;
    for (size_t d = 0; d < last; ++d) {
      sum.add(dims[d].step, 2 * dims[d].most);
      sum.addToTotal(dims[d].step * dims[d].most);
    }
    sum.add(-dims[last].step, dims[last].most - 1);
    sum.addToTotal(dims[last].step);
    const MemoryOverlap its = sum.canBeTotal();
    if (its == MemoryOverlap::kSome) return its;
    if (its != MemoryOverlap::kNone) found = its;
  }
  return found;
}

}  // namespace shunt
