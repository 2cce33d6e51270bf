// Distinct elements and slices, made of other operators. Their number depends on the elements, which nonzero reads.
#include "generated/native_functions.h"
#include "kernels/common/view_util.h"

#include <shunt/core/wrap_dim.h>
#include <shunt/ops.h>

#include <algorithm>
#include <ranges>

namespace shunt::native {
namespace {

using Found = std::tuple<Tensor, Tensor, Tensor>;

Tensor nothing(const Tensor& like) { return like.new_empty({0}, TensorOptions(kLong)); }

Tensor sortable(const Tensor& t) { return t.scalar_type() == kBool ? t.to(kByte) : t; }

/// Which of the rows, but the first, differ from the one before.
Tensor changes(const Tensor& rows) {
  const int64_t n = rows.size(0), rest = std::max<int64_t>(n - 1, 0);
  return rows.narrow(0, n - rest, rest).ne(rows.narrow(0, 0, rest));
}

/// Stretches of equals: where each begins, how long it is, and for each place the stretch it is in.
struct Runs {
  Tensor begins, counts, numbers;
};
Runs runsOf(const Tensor& changed, int64_t n) {
  const Tensor first = changed.new_ones({std::min<int64_t>(n, 1)});
  const Tensor is_begin = shunt::cat({first, changed}, 0);
  const Tensor begins = is_begin.nonzero().select(1, 0);
  const Tensor ends = shunt::cat({begins, begins.new_full({1}, n)}, 0).narrow(0, 1, begins.size(0));
  return {begins, ends.sub(begins), is_begin.cumsum(0).sub(1)};
}

/// What was numbered in an order, where it was before.
Tensor backInPlace(const Tensor& numbers, const Tensor& order) {
  return shunt::empty_like(numbers).scatter(0, order, numbers);
}

Found distinctSlices(const Tensor& self, int64_t dim, bool consecutive) {
  SHUNT_CHECK_INDEX(self.dim() != 0, "Dimension specified as ", dim, " but tensor has no dimensions");
  const int64_t d = maybe_wrap_dim(dim, self.dim());
  const Tensor slices = self.movedim(d, 0);
  const int64_t n = slices.size(0);
  SHUNT_CHECK(slices.numel() != 0 || n == 0, "There are 0 sized dimensions, and they aren't selected by `dim`=", dim,
              ", so unique cannot be applied");
  SHUNT_CHECK(n != 0 || std::ranges::count(self.sizes(), 0) == 1,
              "Number of zero sized dimensions is more than one, so unique cannot be applied");
  const Tensor rows = n != 0 ? slices.reshape({n, -1}) : slices.reshape({0, 1});
  Tensor order = shunt::arange(n, TensorOptions(kLong).device(self.device()));
  if (!consecutive) {
    // By the last column first: each stable sort keeps the order of the ones before among equals.
    const std::vector<Tensor> columns = sortable(rows).unbind(1);
    for (const Tensor& column : columns | std::views::reverse)
      order = order.index_select(0, shunt::argsort(column.index_select(0, order), /*stable=*/true));
  }
  const Runs runs = runsOf(changes(rows.index_select(0, order)).any(1), n);
  return {slices.index_select(0, order.index_select(0, runs.begins)).movedim(0, d), backInPlace(runs.numbers, order),
          runs.counts};
}

}  // namespace

// The elements are always sorted: `sorted=False` allows any order.
Found _unique2(const Tensor& self, bool, bool return_inverse, bool return_counts) {
  implOf(self, "unique");
  const Tensor flat = self.reshape({-1});
  const Tensor order = shunt::argsort(sortable(flat), /*stable=*/true);
  const Tensor ordered = flat.index_select(0, order);
  const Runs runs = runsOf(changes(ordered), flat.size(0));
  return {ordered.index_select(0, runs.begins),
          return_inverse ? backInPlace(runs.numbers, order).reshape(self.sizes()) : nothing(runs.numbers),
          return_counts ? runs.counts : nothing(runs.numbers)};
}

// As in PyTorch, inverse and counts of slices are there whether they are asked for or not.
Found unique_dim(const Tensor& self, int64_t dim, bool, bool, bool) {
  implOf(self, "unique_dim");
  return distinctSlices(self, dim, false);
}

Found unique_consecutive(const Tensor& self, bool return_inverse, bool return_counts, std::optional<int64_t> dim) {
  implOf(self, "unique_consecutive");
  if (dim) return distinctSlices(self, *dim, true);
  const Tensor flat = self.reshape({-1});
  const Runs runs = runsOf(changes(flat), flat.size(0));
  return {flat.index_select(0, runs.begins),
          return_inverse ? runs.numbers.reshape(self.sizes()) : nothing(runs.numbers),
          return_counts ? runs.counts : nothing(runs.numbers)};
}

}  // namespace shunt::native
