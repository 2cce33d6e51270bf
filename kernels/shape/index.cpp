// index_select and index_add: rows of one dimension, chosen by an index vector.
#include "generated/native_functions.h"
#include "kernels/common/copy.h"
#include "kernels/common/factory_util.h"
#include "kernels/common/overlap.h"
#include "kernels/common/strided_loop.h"
#include "kernels/common/view_util.h"

#include <shunt/core/tls.h>
#include <shunt/elementwise/cast.h>
#include <shunt/ops.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

namespace shunt::native {

namespace {

void checkIndexVector(const char* op, const TensorImpl& index) {
  SHUNT_CHECK_INDEX(index.dim() <= 1, op, "(): Index is supposed to be a vector, but got dim: ", index.dim());
  SHUNT_CHECK(index.dtype() == kLong || index.dtype() == kInt, op,
              "(): Expected dtype int32 or int64 for index, but got ", index.dtype());
}

/// The index vector as int64 numbers in [0, size). Others are an IndexError or, where PyTorch says so, a plain Error.
std::vector<int64_t> checkedIndices(const char* op, const TensorImpl& index, int64_t size, bool is_index_error = true) {
  std::vector<int64_t> out;
  out.reserve(static_cast<size_t>(index.numel()));
  const auto add = [&](auto i) { out.push_back(static_cast<int64_t>(i)); };
  if (index.dtype() == kLong)
    forEachElement<int64_t>(index, add);
  else
    forEachElement<int32_t>(index, add);
  for (int64_t i : out) {
    if (i >= 0 && i < size) continue;
    const std::string what =
        detail::str(op, "(): index out of range in self: index ", i, " for a dimension of size ", size);
    if (is_index_error) throw IndexError(what);
    throw Error(what);
  }
  return out;
}

/// A 0-dim tensor counts as one dimension of size 1.
int64_t sizeAt(const TensorImpl& t, int64_t dim) { return t.dim() == 0 ? 1 : t.sizes()[dim]; }

/// Elements of one index position: all dimensions after `dim`.
int64_t innerNumel(const TensorImpl& t, int64_t dim) {
  int64_t n = 1;
  for (int64_t d = dim + 1; d < t.dim(); ++d) n *= t.sizes()[d];
  return n;
}

SizesAndStrides selectedSizes(const TensorImpl& self, int64_t& dim, const TensorImpl& index) {
  checkIndexVector("index_select", index);
  dim = maybe_wrap_dim(dim, self.dim());
  SHUNT_CHECK(self.dim() > 0 || index.numel() == 1, "index_select(): Index to scalar can have only 1 value, got ",
              index.numel(), " value(s)");
  SizesAndStrides dims = dimsOf(self);
  if (self.dim() > 0) dims.sizesData()[dim] = index.numel();
  return dims;
}

void selectInto(const Tensor& self, int64_t dim, const TensorImpl& index, const Tensor& out) {
  const TensorImpl& from = *self.unsafeGetTensorImpl();
  const std::vector<int64_t> indices = checkedIndices("index_select", index, sizeAt(from, dim));
  const TensorImpl& to = *out.unsafeGetTensorImpl();
  if (to.numel() == 0) return;
  if (from.dim() == 0) return copyBelowAutograd(out, self);
  if (!to.is_contiguous() || !from.is_contiguous()) {
    for (size_t i = 0; i < indices.size(); ++i)
      copyBelowAutograd(native::select(out, dim, static_cast<int64_t>(i)), native::select(self, dim, indices[i]));
    return;
  }
  const auto block = static_cast<size_t>(innerNumel(from, dim) * from.itemsize());
  const size_t from_row = block * static_cast<size_t>(from.sizes()[dim]);
  const size_t to_row = block * indices.size();
  const std::byte* source = from.data();
  std::byte* target = to.data();
  for (int64_t row = to.numel() * to.itemsize() / static_cast<int64_t>(to_row); row > 0; --row) {
    for (size_t i = 0; i < indices.size(); ++i)
      std::memcpy(target + i * block, source + static_cast<size_t>(indices[i]) * block, block);
    source += from_row;
    target += to_row;
  }
}

void checkIndexAdd(const TensorImpl& self, int64_t dim, const TensorImpl& index, const TensorImpl& source) {
  checkIndexVector("index_add_", index);
  SHUNT_CHECK(self.dtype() == source.dtype(), "index_add_(): self (", self.dtype(), ") and source (", source.dtype(),
              ") must have the same scalar type");
  SHUNT_CHECK(index.numel() == sizeAt(source, dim), "index_add_(): Number of indices (", index.numel(),
              ") should be equal to source.size(dim): (", sizeAt(source, dim), "), for dim: ", dim);
  bool match = self.dim() == source.dim();
  for (int64_t d = 0; match && d < self.dim(); ++d) match = d == dim || self.sizes()[d] == source.sizes()[d];
  SHUNT_CHECK(match,
              "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = ",
              self.sizes(), " source.shape = ", source.sizes());
}

/// target[i] += alpha * source[i], in the compute type, as the functor Add does. alpha is cast, whatever it is.
template <class T, class A = opmath_t<T>>
void addRow(A* target, const T* source, int64_t n, A alpha) {
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (std::is_same_v<T, bool>)
      target[i] = target[i] | (alpha & source[i]);
    else
      target[i] = static_cast<A>(target[i] + alpha * cast<A>(source[i]));
  }
}

/// Which rows of the source go to one row of the target, one target after the other; each one's in their order.
std::vector<size_t> byTarget(const std::vector<int64_t>& indices) {
  std::vector<size_t> order(indices.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return std::pair(indices[a], a) < std::pair(indices[b], b); });
  return order;
}

/// Adds the rows of a 16-bit source in float, and rounds each row of the target once.
template <class T>
void addRounded(T* target, const T* source, int64_t inner, const std::vector<int64_t>& indices,
                const std::vector<size_t>& order, float alpha, std::vector<float>& sums) {
  for (size_t i = 0; i < order.size();) {
    const int64_t row = indices[order[i]];
    T* const to = target + row * inner;
    for (int64_t k = 0; k < inner; ++k) sums[static_cast<size_t>(k)] = cast<float>(to[k]);
    for (; i < order.size() && indices[order[i]] == row; ++i)
      addRow(sums.data(), source + static_cast<int64_t>(order[i]) * inner, inner, alpha);
    for (int64_t k = 0; k < inner; ++k) to[k] = cast<T>(sums[static_cast<size_t>(k)]);
  }
}

template <class T>
void addContiguous(const TensorImpl& self, int64_t dim, const std::vector<int64_t>& indices, const TensorImpl& source,
                   const Scalar& alpha) {
  const int64_t inner = innerNumel(self, dim);
  const int64_t self_row = inner * sizeAt(self, dim);
  const int64_t source_row = inner * static_cast<int64_t>(indices.size());
  T* target = reinterpret_cast<T*>(self.data());
  const T* from = reinterpret_cast<const T*>(source.data());
  const auto factor = alpha.to<opmath_t<T>>();
  constexpr bool kRounds = !std::is_same_v<T, opmath_t<T>>;
  const std::vector<size_t> order = kRounds ? byTarget(indices) : std::vector<size_t>();
  std::vector<float> sums(kRounds ? static_cast<size_t>(inner) : 0);
  for (int64_t row = source.numel() / source_row; row > 0; --row) {
    if constexpr (kRounds)
      addRounded(target, from, inner, indices, order, factor, sums);
    else
      for (size_t i = 0; i < indices.size(); ++i)
        addRow(target + indices[i] * inner, from + static_cast<int64_t>(i) * inner, inner, factor);
    target += self_row;
    from += source_row;
  }
}

Tensor contiguousCopy(const Tensor& t) { return t.is_contiguous() ? t : native::clone(t, MemoryFormat::Contiguous); }

}  // namespace

Tensor index_select_cpu(const Tensor& self, int64_t dim, const Tensor& index) {
  const TensorImpl& from = implOf(self, "index_select");
  const TensorImpl& indices = implOf(index, "index_select", "index");
  const SizesAndStrides dims = selectedSizes(from, dim, indices);
  Tensor out = makeEmpty("index_select", dims.sizes(), from.dtype(), std::nullopt, Device(kCPU), std::nullopt);
  selectInto(self, dim, indices, out);
  return out;
}

Tensor index_select_meta(const Tensor& self, int64_t dim, const Tensor& index) {
  const TensorImpl& from = implOf(self, "index_select");
  const SizesAndStrides dims = selectedSizes(from, dim, implOf(index, "index_select", "index"));
  return makeEmpty("index_select", dims.sizes(), from.dtype(), std::nullopt, from.device(), std::nullopt);
}

Tensor& index_select_out_meta(const Tensor& self, int64_t dim, const Tensor& index, Tensor& out) {
  const TensorImpl& from = implOf(self, "index_select");
  const TensorImpl& to = implOf(out, "index_select", "out");
  const SizesAndStrides dims = selectedSizes(from, dim, implOf(index, "index_select", "index"));
  SHUNT_CHECK(!(out.is_alias_of(self) || out.is_alias_of(index)) || to.numel() == 0,
              "unsupported operation: the input tensors cannot refer to any of the output memory locations.");
  SHUNT_CHECK(out.dtype() == from.dtype(), "index_select(): self and result must have the same scalar type, but got ",
              from.dtype(), " and ", out.dtype());
  elementwise::assertNoInternalOverlap("index_select", to, Overlap::kError);
  resizeOutputApart("index_select", out, dims.sizes(), {&self, &index});
  return out;
}

Tensor& index_select_out_cpu(const Tensor& self, int64_t dim, const Tensor& index, Tensor& out) {
  index_select_out_meta(self, dim, index, out);
  dim = maybe_wrap_dim(dim, self.dim());
  selectInto(self, dim, *index.unsafeGetTensorImpl(), out);
  return out;
}

Tensor& index_add_meta_(Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha) {
  const TensorImpl& to = implOf(self, "index_add_");
  checkIndexAdd(to, maybe_wrap_dim(dim, to.dim()), implOf(index, "index_add_", "index"),
                implOf(source, "index_add_", "source"));
  elementwise::assertNoInternalOverlap("index_add_", to, Overlap::kError);
  elementwise::assertNoOverlap("index_add_", to, *index.unsafeGetTensorImpl());
  elementwise::assertNoOverlap("index_add_", to, *source.unsafeGetTensorImpl());
  if (source.numel() != 0)
    dispatchAllTypes(to.dtype(), "index_add_", [&]<class T>(std::type_identity<T>) { (void)alpha.to<opmath_t<T>>(); });
  return self;
}

Tensor& index_add_cpu_(Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha) {
  index_add_meta_(self, dim, index, source, alpha);
  const TensorImpl& to = *self.unsafeGetTensorImpl();
  dim = maybe_wrap_dim(dim, to.dim());
  const std::vector<int64_t> indices =
      checkedIndices("index_add_", *index.unsafeGetTensorImpl(), sizeAt(to, dim), to.dim() <= 1);
  if (source.numel() == 0) return self;
  const Tensor from = contiguousCopy(source);
  const Tensor target = contiguousCopy(self);
  dispatchAllTypes(to.dtype(), "index_add_", [&]<class T>(std::type_identity<T>) {
    addContiguous<T>(*target.unsafeGetTensorImpl(), dim, indices, *from.unsafeGetTensorImpl(), alpha);
  });
  if (!target.is_same(self)) copyBelowAutograd(self, target);
  return self;
}

Tensor index_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha) {
  implOf(self, "index_add");
  Tensor result = native::clone(self, MemoryFormat::Contiguous);
  AutoDispatchBelowAutograd guard;
  result.index_add_(dim, index, source, alpha);
  return result;
}

Tensor& index_add_out(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha,
                      Tensor& out) {
  implOf(self, "index_add");
  implOf(out, "index_add", "out");
  SHUNT_CHECK(out.dtype() == self.dtype(), "index_add(): self (", self.dtype(), ") and out (", out.dtype(),
              ") must have the same scalar type");
  if (!out.is_same(self)) {
    resizeOutputApart("index_add", out, self.sizes(), {&self, &index, &source});
    copyBelowAutograd(out, self);
  }
  AutoDispatchBelowAutograd guard;
  return out.index_add_(dim, index, source, alpha);
}

}  // namespace shunt::native
