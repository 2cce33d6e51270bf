#include "src/files/savable.h"

#include <shunt/core/tls.h>
#include <shunt/ops.h>
#include <shunt/tensor/memory_overlap.h>
#include <shunt/tensor/wrapper_kind.h>

#include <algorithm>
#include <tuple>

namespace shunt::files {
namespace {

/// Where a tensor's elements lie, all of them and perhaps others.
struct Span {
  const Savable* tensor;
  // The storage for devices whose data isn't known by addresses; 0 for the CPU.
  uintptr_t storage;
  uintptr_t begin, end;
};

Span spanOf(const Savable& savable) {
  const Tensor& t = *savable.tensor;
  uintptr_t last = 0;
  for (int64_t d = 0; d < t.dim(); ++d) last += static_cast<uintptr_t>((t.size(d) - 1) * t.stride(d));
  const auto item = static_cast<uintptr_t>(t.itemsize());
  const uintptr_t offset = static_cast<uintptr_t>(t.storage_offset()) * item;
  const uintptr_t base = t.is_cpu() ? reinterpret_cast<uintptr_t>(t.storage().data()) : 0;
  return {&savable, t.is_cpu() ? 0 : reinterpret_cast<uintptr_t>(t.storage().get()), base + offset,
          base + offset + (last + 1) * item};
}

/// Of tensors whose spans meet. Columns of one matrix lie between each other, which only their strides show. Two
/// storages over the same memory, as from_blob() may make, can't be asked, and nor can strides that are too involved:
/// better an error than a file in which tensors have lost what they shared.
bool mayShare(const Span& a, const Span& b) {
  const TensorImpl &one = *a.tensor->tensor->unsafeGetTensorImpl(), &other = *b.tensor->tensor->unsafeGetTensorImpl();
  return one.storage() != other.storage() || memory_overlap(one, other) != MemoryOverlap::kNone;
}

}  // namespace

void checkSavable(const AboutTensor& about, const Tensor& tensor) {
  if (const char* why = whyNoData(tensor)) about.fail("can't be saved: it is ", why);
  if (!tensor.unsafeGetTensorImpl()->has_storage()) about.fail("can't be saved: it has no storage");
}

// Sorted by their beginnings, a tensor may meet those before it that end after it begins.
void checkUnshared(const AboutFile& about, const std::vector<Savable>& tensors) {
  std::vector<Span> spans;
  for (const Savable& s : tensors)
    if (s.tensor->numel() != 0) spans.push_back(spanOf(s));
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
    return std::tie(a.storage, a.begin, *a.tensor->name) < std::tie(b.storage, b.begin, *b.tensor->name);
  });
  std::vector<const Span*> open;
  for (const Span& s : spans) {
    std::erase_if(open, [&](const Span* o) { return o->storage != s.storage || o->end <= s.begin; });
    for (const Span* o : open)
      if (mayShare(*o, s))
        about.fail("tensors ", shown(*o->tensor->name), " and ", shown(*s.tensor->name),
                   " share memory, and would be read back as two tensors that don't; save one of them, or a clone()");
    open.push_back(&s);
  }
}

// Below modes and transforms: what they make of an operator is no concern of a file.
Elements::Elements(const Tensor& tensor) : held_(tensor) {
  if (!tensor.is_cpu() || !tensor.is_contiguous()) {
    const AutoDispatchBelowAutograd no_graph;
    const ExcludeDispatchKeyGuard below(kWrapperKeys | DispatchKeySet::of(Functionality::PythonKernel));
    held_ = tensor.to(kCPU).contiguous();
  }
  bytes_ = {static_cast<const std::byte*>(held_.data_ptr()), held_.nbytes()};
}

}  // namespace shunt::files
