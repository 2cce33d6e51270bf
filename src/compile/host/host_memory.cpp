#include "src/compile/host/host_memory.h"

#include "src/compile/host/host_specs.h"

#include <shunt/core/error.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace shunt::compiled {
namespace {

size_t alignmentOf(ScalarType dtype) {
  return std::min(static_cast<size_t>(elementSize(dtype)), alignof(std::max_align_t));
}

size_t bytesBefore(const HostSpec& spec) {
  return static_cast<size_t>(spec.offset) * static_cast<size_t>(elementSize(spec.dtype));
}

Tensor tensorOver(const Storage& storage, const HostSpec& spec) {
  // As outside of inference mode, whatever the thread has on.
  const DispatchKeySet keys = keySetFor(kCPU).add(DispatchKey::ADInplaceOrView);
  auto impl = make_intrusive<TensorImpl>(storage, keys, spec.dtype);
  impl->set_sizes_and_strides(spec.sizes, spec.strides, spec.offset);
  return Tensor(std::move(impl));
}

}  // namespace

void HostLayout::add(const HostSpec& spec, size_t storage, bool is_output, size_t position) {
  places.push_back({spec, storage, is_output, position});
  if (storages.size() <= storage) storages.resize(storage + 1);
  Storage& home = storages[storage];
  const bool is_first = home.bytes == 0;
  ++home.tensors;
  if (numelOf(spec) == 0) return;
  home.begin = is_first ? bytesBefore(spec) : std::min(home.begin, bytesBefore(spec));
  home.bytes = std::max(home.bytes, bytesOf(spec));
}

std::string HostLayout::nameOf(const Place& place) const {
  return detail::str(place.is_output ? "output memory " : "input ", place.position, " (", textOf(place.spec), ")");
}

HostMemory::HostMemory(const HostLayout& layout)
    : layout_(layout),
      addresses_(layout.places.size()),
      begins_(layout.storages.size()),
      tensors_(layout.places.size()) {
  for (const Tensor& t : tensors_) given_.push_back(&t);
}

void HostMemory::checkCounts(size_t inputs, size_t outputs) const {
  SHUNT_CHECK(inputs == layout_.inputs, layout_.name, ": expected the addresses of ", layout_.inputs, " inputs, got ",
              inputs);
  SHUNT_CHECK(outputs == layout_.places.size() - layout_.inputs, layout_.name, ": expected the addresses of ",
              layout_.places.size() - layout_.inputs, " outputs in the host's memory, got ", outputs);
}

void HostMemory::checkAddress(const HostLayout::Place& place, const void* address) const {
  SHUNT_CHECK(address != nullptr, layout_.name, ": ", layout_.nameOf(place), ": the address is null");
  const size_t alignment = alignmentOf(place.spec.dtype);
  SHUNT_CHECK(reinterpret_cast<uintptr_t>(address) % alignment == 0, layout_.name, ": ", layout_.nameOf(place),
              ": expected an address that is a multiple of ", alignment, ", got ", address);
}

/// Where storages begin; null without elements.
std::vector<std::byte*> HostMemory::storagesAt(std::span<void* const> inputs, std::span<void* const> outputs) const {
  std::vector<std::byte*> begins(layout_.storages.size());
  std::vector<const HostLayout::Place*> known(begins.size());
  for (size_t i = 0; i < layout_.places.size(); ++i) {
    const HostLayout::Place& place = layout_.places[i];
    if (numelOf(place.spec) == 0) continue;
    void* const address = addressOf(i, inputs, outputs);
    checkAddress(place, address);
    std::byte* const begin = static_cast<std::byte*>(address) - bytesBefore(place.spec);
    const HostLayout::Place*& first = known[place.storage];
    SHUNT_CHECK(first == nullptr || begins[place.storage] == begin, layout_.name, ": ", layout_.nameOf(place), " and ",
                layout_.nameOf(*first),
                " were declared in one storage, but their addresses are as of two: it would "
                "begin at ",
                static_cast<const void*>(begin), " and at ", static_cast<const void*>(begins[place.storage]));
    first = &place;
    begins[place.storage] = begin;
  }
  return begins;
}

/// In the order of addresses each storage is compared with those that begin before it ends: mostly with none.
void HostMemory::checkApart(const std::vector<std::byte*>& begins) const {
  struct Range {
    uintptr_t begin, end;
    size_t storage;
  };
  std::vector<Range> ranges;
  for (size_t i = 0; i < begins.size(); ++i) {
    const auto at = reinterpret_cast<uintptr_t>(begins[i]);
    const HostLayout::Storage& storage = layout_.storages[i];
    if (storage.bytes != 0) ranges.push_back({at + storage.begin, at + storage.bytes, i});
  }
  std::ranges::sort(ranges, {}, &Range::begin);
  const auto first = [&](size_t storage) {
    return layout_.nameOf(*std::ranges::find(layout_.places, storage, &HostLayout::Place::storage));
  };
  for (size_t i = 0; i < ranges.size(); ++i)
    for (size_t j = i + 1; j < ranges.size() && ranges[j].begin < ranges[i].end; ++j) {
      const size_t a = std::min(ranges[i].storage, ranges[j].storage);
      const size_t b = std::max(ranges[i].storage, ranges[j].storage);
      SHUNT_CHECK(!layout_.storages[a].is_written && !layout_.storages[b].is_written, layout_.name,
                  ": the storages of ", first(a), " and of ", first(b),
                  " overlap, and one of them is written; declare inputs that share memory so, and give outputs memory "
                  "of their own");
    }
}

void HostMemory::bind(std::span<void* const> inputs, std::span<void* const> outputs) {
  checkCounts(inputs.size(), outputs.size());
  bool is_same = is_bound_;
  for (size_t i = 0; is_same && i < addresses_.size(); ++i) is_same = addresses_[i] == addressOf(i, inputs, outputs);
  if (is_same) [[likely]]
    return;
  std::vector<std::byte*> begins = storagesAt(inputs, outputs);
  if (layout_.checks_memory) checkApart(begins);
  std::vector<Storage> storages(begins.size());
  const bool was_bound = std::exchange(is_bound_, false);  // nothing is trusted where there is no memory for the rest
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const HostLayout::Place& place = layout_.places[i];
    if (was_bound && begins[place.storage] == begins_[place.storage]) continue;
    Storage& storage = storages[place.storage];
    if (!storage.defined())
      storage = make_intrusive<StorageImpl>(DataPtr{begins[place.storage], nullptr, nullptr},
                                            layout_.storages[place.storage].bytes, Device(kCPU), nullptr, false);
    tensors_[i] = tensorOver(storage, place.spec);
  }
  begins_ = std::move(begins);
  for (size_t i = 0; i < addresses_.size(); ++i) addresses_[i] = addressOf(i, inputs, outputs);
  is_bound_ = true;
}

const HostLayout::Place* HostMemory::kept() const {
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const TensorImpl& impl = *tensors_[i].unsafeGetTensorImpl();
    const HostLayout::Place& place = layout_.places[i];
    if (tensors_[i].use_count() != 1 || impl.storage().use_count() != layout_.storages[place.storage].tensors)
      return &place;
  }
  return nullptr;
}

std::unique_ptr<HostMemory> HostMemoryPool::take() {
  if (HostMemory* first = first_.exchange(nullptr, std::memory_order_acq_rel)) [[likely]]
    return std::unique_ptr<HostMemory>(first);
  {
    const std::scoped_lock lock(mutex_);
    if (!others_.empty()) {
      std::unique_ptr<HostMemory> out = std::move(others_.back());
      others_.pop_back();
      return out;
    }
  }
  return std::make_unique<HostMemory>(layout_);
}

// Where there is no memory for the list, it is dropped.
void HostMemoryPool::give(std::unique_ptr<HostMemory> memory) noexcept {
  HostMemory* none = nullptr;
  if (first_.compare_exchange_strong(none, memory.get(), std::memory_order_acq_rel)) {
    memory.release();
    return;
  }
  try {
    const std::scoped_lock lock(mutex_);
    others_.push_back(std::move(memory));
  } catch (...) {
  }
}

}  // namespace shunt::compiled
