// See Note [Fake tensors].
#include <shunt/transforms/fake_tensor.h>

#include "src/autograd/plain_grad.h"
#include "src/autograd/storage_and_grad.h"
#include "src/transforms/fake/fake_impl.h"

#include <shunt/autograd/autograd_meta.h>
#include <shunt/ops.h>
#include <shunt/tensor/device_guard.h>

#include <algorithm>
#include <unordered_map>

namespace shunt {
namespace fake {
namespace {

struct NoMemory : Allocator {
  DataPtr allocate(size_t, Device) override { return {}; }
};
constinit NoMemory no_memory;

}  // namespace

Device normalized(Device device) {
  SHUNT_CHECK(deviceTypeOf(backendOf(device.type())) == device.type(), "fake tensors on device ", device,
              " are not supported: no backend key stands for its tensors");
  if (device.is_cpu() || device.is_meta()) return Device(device.type());
  device = device.has_index() ? device : ensure_has_index(device);
  // Nobody tells the current one of devices that aren't here: it's the first, as in PyTorch, so that "cuda" is
  // "cuda:0". A backend of the user's own without a guard has real tensors, whose devices have no index.
  return device.has_index() || isPrivateUse(device.type()) ? device : Device(device.type(), 0);
}

Storage makeStorage(size_t nbytes, Device device) {
  return make_intrusive<StorageImpl>(DataPtr{}, nbytes, device, &no_memory, true);
}

void resizeStorage(StorageImpl& storage, size_t nbytes) {
  if (storage.nbytes() == nbytes) return;
  storage.resize(0);  // a resize keeps contents, of which an empty storage has none
  storage.resize(nbytes);
}

Tensor makeTensor(Storage storage, const TensorImpl& like) {
  const DispatchKeySet keys = withViewKey(keySetFor(storage->device()), !like.is_inference()).add(DispatchKey::Fake);
  auto impl = make_intrusive<TensorImpl>(std::move(storage), keys, like.dtype());
  impl->set_sizes_and_strides(like.sizes(), like.strides(), like.storage_offset());
  impl->set_wrapped_number(like.is_wrapped_number());
  return Tensor(std::move(impl));
}

}  // namespace fake

struct FakeTensorConverter::Memo {
  struct OfStorage {
    weak_intrusive_ptr<StorageImpl> real;
    Storage fake;
  };
  struct OfTensor {
    OfTensor(const Tensor& t, Tensor its_fake) : real(t.getIntrusivePtr()), fake(std::move(its_fake)) {}
    weak_intrusive_ptr<TensorImpl> real;
    Tensor fake;
  };
  // Weak references keep the addresses from being used again.
  std::unordered_map<const StorageImpl*, OfStorage> storages;
  std::unordered_map<const TensorImpl*, OfTensor> tensors;

  Storage storageOf(const Storage& real) {
    OfStorage& entry = storages[real.get()];
    if (!entry.fake.defined())
      entry = {weak_intrusive_ptr<StorageImpl>(real),
               fake::makeStorage(real->nbytes(), fake::normalized(real->device()))};
    return entry.fake;
  }

  // Drops what only this memo holds, of tensors that are gone: at times, so that many tensors don't cost their square.
  size_t swept = 64;  // how many have to be there for the next time
  void sweep() {
    if (tensors.size() < swept) return;
    dropExpired();
    swept = std::max<size_t>(64, 2 * tensors.size());
  }
  void dropExpired() {
    std::erase_if(tensors, [](const auto& entry) { return entry.second.real.expired(); });
    std::erase_if(storages, [](const auto& entry) { return entry.second.real.expired(); });
  }

  Tensor make(const Tensor& t, FakeTensorConverter& converter) {
    const EnableGradGuard grad;
    // A view of the same dtype is made as one, so that it follows its base's graph.
    if (t.is_view() && t._base().dtype() == t.dtype()) {
      const Tensor view = converter.from_tensor(t._base()).as_strided(t.sizes(), t.strides(), t.storage_offset());
      if (auto* meta = autograd::get_view_autograd_meta(view))
        meta->creation_meta_ = autograd::get_view_autograd_meta(t)->creation_meta_;
      if (t.requires_grad() && !view.requires_grad()) view.set_requires_grad(true);
      return view;
    }
    const Tensor result = fake::makeTensor(storageOf(t.storage()), *t.unsafeGetTensorImpl());
    if (!t.requires_grad()) return result;
    result.set_requires_grad(true);
    return t.is_leaf() ? result : result.clone();
  }
};

FakeTensorConverter::FakeTensorConverter() : memo_(std::make_unique<Memo>()) {}
FakeTensorConverter::~FakeTensorConverter() = default;

Tensor FakeTensorConverter::from_tensor(const Tensor& t) {
  if (!t.defined() || is_fake(t)) return t;
  SHUNT_CHECK(!t.key_set().backends().empty() && t.unsafeGetTensorImpl()->has_storage(),
              "from_tensor: a fake tensor is made of a tensor with data, but this one has the keys ", t.key_set(),
              "; unwrap it first");
  if (const auto known = memo_->tensors.find(t.unsafeGetTensorImpl()); known != memo_->tensors.end())
    return known->second.fake;
  memo_->sweep();
  // A frozen parameter keeps its grad, and so does what isn't a leaf and retains it.
  const Tensor* const held = autograd::gradOf(t);
  Tensor grad = held != nullptr ? *held : Tensor();
  autograd::makePlain(grad, "from_tensor: the grad of the tensor is");
  // Modes and wrappers that are active here are not asked: nothing is computed.
  const ExcludeDispatchKeyGuard below(fake::kModesAndWrappers | kAutocastKeys);
  Tensor made = memo_->make(t, *this);
  // Known before its grad, which may be this very tensor or a view of it. Made already as the grad of its base: that
  // one stays.
  Tensor result = memo_->tensors.try_emplace(t.unsafeGetTensorImpl(), t, std::move(made)).first->second.fake;
  if (!grad.defined()) return result;
  try {
    result.mutable_grad() = from_tensor(grad);
  } catch (...) {
    memo_->tensors.erase(t.unsafeGetTensorImpl());
    throw;
  }
  return result;
}

Tensor to_fake(const Tensor& t) { return FakeTensorConverter().from_tensor(t); }

FakeTensorMode::FakeTensorMode() : guard_(DispatchKey::Fake) {}

}  // namespace shunt
