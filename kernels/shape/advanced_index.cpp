// index and index_put: the elements at positions that tensors name, one tensor for each of the first dimensions or
// none.
//
// All runs walk the result's shape with three operands: the offsets of the index, self with stride 0 along the index,
// and the other side. Row-major order: of positions that name one element, the last one stays, and sums have one order.
#include "generated/native_functions.h"
#include "kernels/common/factory_util.h"
#include "kernels/common/result.h"
#include "kernels/shape/chosen.h"
#include "kernels/shape/sums.h"

#include <shunt/core/log.h>
#include <shunt/core/tls.h>
#include <shunt/tensor/expand_utils.h>

namespace shunt::native {
namespace {

void readInto(const Chosen& chosen, const Tensor& self, const TensorImpl& out) {
  const TensorImpl& from = *self.unsafeGetTensorImpl();
  if (out.numel() == 0) return;  // nothing is read, so no position is out of bounds, as in PyTorch
  const std::vector<int64_t> offsets = offsetsOf(chosen, from);
  dispatchBySize(out.itemsize(), [&]<class T>(std::type_identity<T>) {
    forEachChosen<T>(chosen, offsets, from, out, [](const T& element, T& result) { result = element; });
  });
}

/// A single mask over some dimensions of `self`, to be filled with one number: the mask for masked_fill.
std::optional<Tensor> maskToFill(const Tensor& self, TensorOptList indices, const Tensor& values) {
  if (values.numel() != 1 || !values.device().is_cpu()) return std::nullopt;
  Tensor mask;
  int64_t dims = 0;
  for (const std::optional<Tensor>& index : indices) {
    if (!index || !index->defined()) {
      ++dims;
      continue;
    }
    if (!isMask(*index) || mask.defined() || index->device() != self.device()) return std::nullopt;
    checkMask(self, *index, dims);
    mask = *index;
    dims += mask.dim();
  }
  if (!mask.defined()) return std::nullopt;
  for (; dims < self.dim(); ++dims) mask = native::unsqueeze(mask, -1);
  return mask;
}

/// On Meta, where masks have no elements to count, as much as is known.
bool isUnknown(const Tensor& self, TensorOptList indices) {
  if (hasData(*self.unsafeGetTensorImpl())) return false;
  bool unknown = false;
  int64_t dims = 0;
  for (const std::optional<Tensor>& index : indices) {
    const bool mask = index && index->defined() && isMask(*index);
    if (mask) checkMask(self, *index, dims);
    dims += mask ? index->dim() : 1;
    unknown = unknown || mask;
  }
  return unknown;
}

void writeFrom(const Chosen& chosen, const Tensor& self, const Tensor& values, bool accumulate) {
  const TensorImpl& to = *self.unsafeGetTensorImpl();
  const Tensor wide = native::expand(readableBeside(values, to), chosen.sizes, false);
  const TensorImpl& from = *wide.unsafeGetTensorImpl();
  if (from.numel() == 0) return;
  const std::vector<int64_t> offsets = offsetsOf(chosen, to);
  if (accumulate)
    dispatchAllTypes(to.dtype(), "index_put_", [&]<class T>(std::type_identity<T>) {
      using A = opmath_t<T>;
      Sums<T> sums(to);
      forEachChosen<T>(chosen, offsets, to, from,
                       [&](T& element, const T& value) { addTo(sums[element], cast<A>(value)); });
      sums.store();
    });
  else
    dispatchBySize(to.itemsize(), [&]<class T>(std::type_identity<T>) {
      forEachChosen<T>(chosen, offsets, to, from, [](T& element, const T& value) { element = value; });
    });
}

}  // namespace

Tensor index(const Tensor& self, TensorOptList indices) {
  const TensorImpl& from = implOf(self, "index");
  checkIndices("index", from, indices);
  const Chosen chosen = choose(self, indices);
  Tensor out = makeEmptyStrided("index", chosen.sizes, layoutOf(chosen), from.dtype(), std::nullopt, from.device(),
                                std::nullopt);
  if (hasData(from)) readInto(chosen, self, *out.unsafeGetTensorImpl());
  return out;
}

Tensor& index_out(const Tensor& self, TensorOptList indices, Tensor& out) {
  const TensorImpl &from = implOf(self, "index"), &to = implOf(out, "index", "out");
  checkIndices("index", from, indices);
  SHUNT_CHECK(to.device() == from.device(), "index(): Expected out tensor to be on device ", from.device(),
              ", but got ", to.device());
  SHUNT_CHECK(to.dtype() == from.dtype(), "index(): Expected out tensor to have dtype ", from.dtype(), ", but got ",
              to.dtype(), " instead");
  elementwise::assertNoInternalOverlap("index", to, Overlap::kError);
  elementwise::assertNoOverlap("index", to, from);
  for (const std::optional<Tensor>& index : indices)
    if (index && index->defined()) elementwise::assertNoOverlap("index", to, *index->unsafeGetTensorImpl());
  const Tensor source = hasData(from) ? readableBeside(self, to) : self;
  const Chosen chosen = choose(source, indices);
  const bool fits = to.sizes() == IntArrayRef(chosen.sizes);
  resizeOutputApart("index", out, chosen.sizes, {&source});
  if (!fits) out.unsafeGetTensorImpl()->set_sizes_and_strides(chosen.sizes, layoutOf(chosen), to.storage_offset());
  if (hasData(from)) readInto(chosen, source, to);
  return out;
}

Tensor& index_put_(Tensor& self, TensorOptList indices, const Tensor& values, bool accumulate) {
  const TensorImpl &to = implOf(self, "index_put_"), &from = implOf(values, "index_put_", "values");
  if (elementwise::repeatsElements(to.sizes(), to.strides()))
    detail::logWarning(
        "Use of index_put_ on expanded tensors is deprecated. Please clone() the tensor before performing this "
        "operation.");
  checkIndices("index_put_", to, indices);
  SHUNT_CHECK(from.device() == to.device() || (from.device().is_cpu() && from.numel() == 1),
              "index_put_(): Expected values to be on device ", to.device(), " as self, but got ", from.device());
  if (!accumulate)
    if (const auto mask = maskToFill(self, indices, values)) {
      AutoDispatchBelowAutograd guard;
      return self.masked_fill_(*mask, values.item());
    }
  elementwise::assertNoOverlap("index_put_", to, from);
  for (const std::optional<Tensor>& index : indices)
    if (index && index->defined()) elementwise::assertNoOverlap("index_put_", to, *index->unsafeGetTensorImpl());
  std::optional<Chosen> chosen;
  if (!isUnknown(self, indices)) {
    chosen = choose(self, indices);
    SHUNT_CHECK(is_expandable_to(from.sizes(), chosen->sizes), "shape mismatch: value tensor of shape ", from.sizes(),
                " cannot be broadcast to indexing result of shape ", IntArrayRef(chosen->sizes));
  }
  SHUNT_CHECK(from.dtype() == to.dtype(), "Index put requires the source and destination dtypes match, got ",
              to.dtype(), " for the destination and ", from.dtype(), " for the source.");
  if (hasData(to)) writeFrom(*chosen, self, values, accumulate);
  return self;
}

Tensor index_put(const Tensor& self, TensorOptList indices, const Tensor& values, bool accumulate) {
  implOf(self, "index_put");
  Tensor result = native::clone(self, MemoryFormat::Preserve);
  return index_put_(result, indices, values, accumulate);
}

}  // namespace shunt::native
