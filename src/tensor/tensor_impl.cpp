#include <shunt/tensor/tensor_impl.h>

#include <shunt/core/tls.h>

#include "src/tensor/tensor_block.h"

namespace shunt {
namespace {

bool stridesAreContiguous(const SizesAndStrides& dims) {
  int64_t expected = 1;
  for (size_t d = dims.dim(); d-- > 0;) {
    const int64_t size = dims.size(d);
    if (size == 0) return true;
    if (size != 1 && dims.stride(d) != expected) return false;
    expected *= size;
  }
  return true;
}

bool isChannelsLast(const SizesAndStrides& dims, size_t rank) {
  if (dims.dim() != rank) return false;
  int64_t expected = 1;
  // Channels first in memory order, then the spatial dimensions from the last to the first, then the batch.
  auto accept = [&](size_t d) {
    const int64_t size = dims.size(d);
    if (size != 1 && dims.stride(d) != expected) return false;
    expected *= size;
    return true;
  };
  if (!accept(1)) return false;
  for (size_t d = rank; d-- > 2;)
    if (!accept(d)) return false;
  return accept(0);
}

}  // namespace

TensorImpl::TensorImpl(Storage storage, DispatchKeySet keyset, ScalarType dtype)
    : key_set_(keyset), storage_(std::move(storage)), dtype_(dtype), device_(storage_->device()) {
  dims_.sizesData()[0] = 0;
  dims_.stridesData()[0] = 1;
  refreshGeometry();
}

TensorImpl::TensorImpl(DispatchKeySet keyset, ScalarType dtype, std::optional<Device> device)
    : TensorImpl(make_intrusive<StorageImpl>(DataPtr{}, size_t{0}, device.value_or(Device(kCPU)), nullptr, false),
                 withAutogradKeys(keyset), dtype) {}

TensorImpl::~TensorImpl() = default;

void TensorImpl::release_resources() {
  foreign_.release();
  autograd_meta_.reset();
  version_.reset();
  storage_.reset();
}

void TensorImpl::destroy() {
  foreign_.release();
  if (!in_block_) {
    delete this;
    return;
  }
  TensorBlock* block = TensorBlock::of(this);
  autograd_meta_.reset();  // a node that saved an alias of this tensor lets its storage go
  const bool both = storage_.get() == &block->storage && IntrusiveAccess::alone(block->storage);
  if (both) {
    // Nobody else holds the storage, so the whole block goes at once and no count needs to be written.
    storage_.release();
    block->storage.StorageImpl::~StorageImpl();
    this->TensorImpl::~TensorImpl();
    block->freeMemory();
  } else {
    this->TensorImpl::~TensorImpl();
    block->endPart();
  }
}

void TensorImpl::refreshGeometry() {
  int64_t numel = 1;
  for (int64_t s : dims_.sizes()) numel *= s;
  numel_ = numel;
  is_contiguous_ = numel == 0 || stridesAreContiguous(dims_);
  LayoutClass layout = LayoutClass::kAnyStrides;
  if (numel == 1)
    layout = LayoutClass::kOneElement;
  else if (is_contiguous_)
    layout = LayoutClass::kContiguous;
  else if (dims_.stride(dims_.dim() - 1) == 1)
    layout = LayoutClass::kInnerContiguous;
  setSignature(layout);
}

void TensorImpl::set_sizes_and_strides(IntArrayRef sizes, IntArrayRef strides, int64_t storage_offset) {
  SHUNT_INTERNAL_ASSERT(sizes.size() == strides.size(), "sizes ", sizes, " and strides ", strides);
  dims_.resize(sizes.size());
  std::copy(sizes.begin(), sizes.end(), dims_.sizesData());
  std::copy(strides.begin(), strides.end(), dims_.stridesData());
  storage_offset_ = storage_offset;
  refreshGeometry();
}

void TensorImpl::set_sizes_contiguous(IntArrayRef sizes) { TensorBlock::setSizesContiguous(*this, sizes); }

bool TensorImpl::is_contiguous(MemoryFormat format) const {
  switch (format) {
    case MemoryFormat::ChannelsLast:
      return isChannelsLast(dims_, 4);
    case MemoryFormat::ChannelsLast3d:
      return isChannelsLast(dims_, 5);
    default:
      return is_contiguous_;
  }
}

bool TensorImpl::computeNonOverlappingAndDense() const {
  // In order of strides the dimensions larger than 1 must nest exactly.
  if (numel_ <= 1) return true;
  std::vector<size_t> order;
  for (size_t d = 0; d < dims_.dim(); ++d)
    if (dims_.size(d) != 1) order.push_back(d);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return dims_.stride(a) < dims_.stride(b); });
  int64_t expected = 1;
  for (size_t d : order) {
    if (dims_.stride(d) != expected) return false;
    expected *= dims_.size(d);
  }
  return true;
}

void TensorImpl::set_storage(Storage storage, ScalarType dtype) {
  SHUNT_INTERNAL_ASSERT(storage.defined(), "a tensor needs a storage");
  // The counter goes on from where it is, and must outlive the old storage's header. With the same storage it stays
  // there, where this tensor's views count too.
  if (!version_ && storage.get() != storage_.get()) {
    const uint32_t count = version().current();
    use_own_version_counter();
    version_->counter->set(count);
  }
  storage_ = std::move(storage);
  dtype_ = dtype;
  device_ = storage_->device();
  refreshGeometry();
}

void TensorImpl::shallow_copy_from(const TensorImpl& other) {
  set_storage(other.storage_, other.dtype_);
  constexpr DispatchKeySet kKept = kAutogradAndViewKeys;
  key_set_ = (key_set_ & kKept).functionalities() | (other.key_set_ - kKept);
  dims_ = other.dims_;
  storage_offset_ = other.storage_offset_;
  refreshGeometry();
}

VersionCounter& TensorImpl::version_counter() const {
  SHUNT_CHECK(!is_inference(), "Inference tensors do not track version counter.");
  return version();
}

void TensorImpl::bump_version() const {
  if (!is_inference()) return version().bump();
  SHUNT_CHECK(
      InferenceMode::is_enabled(),
      "Inplace update to inference tensor outside InferenceMode is not allowed. Clone it and change the clone.");
}

void TensorImpl::use_own_version_counter() {
  struct Alone final : SharedVersion {
    Alone() : SharedVersion(count) {}
    VersionCounter count;
  };
  version_ = make_intrusive<Alone>();
}

void TensorImpl::share_version_counter_of(const TensorImpl& base) {
  struct OfStorage final : SharedVersion {
    static void* operator new(size_t nbytes) { return detail::allocateBlock(nbytes); }
    static void operator delete(void* p, size_t nbytes) noexcept { detail::freeBlock(p, nbytes); }
    explicit OfStorage(const Storage& storage) : SharedVersion(storage->version()), storage(storage) {}
    const Storage storage;  // where the counter is
  };
  version_ = base.version_;
  // A base that counts in its storage: views of the same storage find the counter there, and others keep it alive.
  if (!version_ && storage_.get() != base.storage_.get()) version_ = make_intrusive<OfStorage>(base.storage_);
}

namespace detail {

int64_t checkedNumel(const char* what, IntArrayRef sizes) {
  int64_t numel = 1;
  bool overflow = false;
  for (int64_t s : sizes) {
    SHUNT_CHECK(s >= 0, what, ": Trying to create tensor with negative dimension ", s, ": ", sizes);
    overflow |= __builtin_mul_overflow(numel, s, &numel);
  }
  // A zero anywhere makes an empty tensor however large the rest is.
  for (int64_t s : sizes)
    if (s == 0) return 0;
  SHUNT_CHECK(!overflow, what, ": the number of elements of sizes ", sizes, " overflows int64");
  return numel;
}

int64_t storageBytes(const char* what, IntArrayRef sizes, IntArrayRef strides, int64_t itemsize) {
  const int64_t numel = checkedNumel(what, sizes);
  if (numel == 0) return 0;
  int64_t extent = 1;
  bool overflow = false;
  if (strides.empty()) {
    extent = numel;
  } else {
    SHUNT_CHECK(strides.size() == sizes.size(), what, ": dimensionality of sizes (", sizes.size(),
                ") must match dimensionality of strides (", strides.size(), ")");
    for (size_t d = 0; d < sizes.size(); ++d) {
      SHUNT_CHECK(strides[d] >= 0, what, ": negative strides are not supported, got strides ", strides);
      int64_t span = 0;
      overflow |= __builtin_mul_overflow(sizes[d] - 1, strides[d], &span);
      overflow |= __builtin_add_overflow(extent, span, &extent);
    }
  }
  int64_t bytes = 0;
  overflow |= __builtin_mul_overflow(extent, itemsize, &bytes);
  SHUNT_CHECK(!overflow, what, ": storage size of sizes ", sizes, " with ", itemsize,
              " bytes an element overflows int64");
  return bytes;
}

}  // namespace detail
}  // namespace shunt
