// Tensors, storages and allocators as sources written for PyTorch make them by hand.
#pragma once

#include <shunt/shunt.h>

namespace shunt {

/// A dtype by the name that PyTorch's internals give it.
class TypeMeta {
 public:
  TypeMeta(ScalarType type) : type_(type) {}
  template <class T>
  static TypeMeta Make() {
    return TypeMeta(scalar_type_of<T>);
  }
  ScalarType toScalarType() const { return type_; }
  operator ScalarType() const { return type_; }
  size_t itemsize() const { return static_cast<size_t>(elementSize(type_)); }
  friend bool operator==(TypeMeta a, TypeMeta b) { return a.type_ == b.type_; }

 private:
  ScalarType type_;
};

/// The CPU's memory without a device argument.
class CPUAllocator final : public Allocator {
 public:
  DataPtr allocate(size_t nbytes, Device device) override {
    return allocatorOf(device.type()).allocate(nbytes, device);
  }
  DataPtr allocate(size_t nbytes) { return allocate(nbytes, Device(kCPU)); }
};
inline CPUAllocator* GetCPUAllocator() {
  static CPUAllocator allocator;
  return &allocator;
}

/// `ks` with what a tensor of its backend has besides: the Autograd key and ADInplaceOrView.
constexpr DispatchKeySet withAutogradKeys(DispatchKeySet ks) {
  const bool has_own_key = !ks.backends().empty();
  return ks | DispatchKeySet::of(Functionality::ADInplaceOrView) |
         DispatchKeySet::of(has_own_key ? Functionality::AutogradFunctionality : Functionality::AutogradOther);
}

namespace detail {
/// A tensor over an implementation made from a storage, keys without Autograd's, and a dtype.
template <class Impl>
Tensor make_tensor(Storage storage, DispatchKeySet ks, TypeMeta dtype) {
  return Tensor(make_intrusive<Impl>(std::move(storage), withAutogradKeys(ks), dtype.toScalarType()));
}
}  // namespace detail

constexpr DispatchKey getAutogradKeyFromBackend(BackendComponent backend) { return autogradKeyOf(backend); }

}  // namespace shunt
