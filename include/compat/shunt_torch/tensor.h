// Parts from which sources written for PyTorch make tensors by hand: dtypes, allocators, storages.
#pragma once

#include <shunt/shunt.h>

#include <type_traits>

namespace shunt {

/// A dtype, by the name that it has in PyTorch's internals.
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

/// The CPU's allocator; the device argument is optional.
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

namespace detail {
template <class... Args>
inline constexpr bool kStartsWithStorage = false;
template <class First, class... Rest>
inline constexpr bool kStartsWithStorage<First, Rest...> = std::is_convertible_v<First, Storage>;

template <class Impl, class... Args>
  requires(!kStartsWithStorage<Args...>)
Tensor make_tensor(Args&&... args) {
  return Tensor(make_intrusive<Impl>(std::forward<Args>(args)...));
}
/// A tensor with an implementation made from a storage, keys (Autograd's are added) and a dtype.
template <class Impl>
Tensor make_tensor(Storage storage, DispatchKeySet ks, TypeMeta dtype) {
  return Tensor(make_intrusive<Impl>(std::move(storage), withAutogradKeys(ks), dtype.toScalarType()));
}
}  // namespace detail

/// Whether the only element isn't 0. Throws unless there is exactly one.
inline bool is_nonzero(const Tensor& self) {
  SHUNT_CHECK(self.numel() != 0, "Boolean value of Tensor with no values is ambiguous");
  SHUNT_CHECK(self.numel() == 1, "Boolean value of Tensor with more than one value is ambiguous");
  return self.item().toBool();
}

constexpr DispatchKey getAutogradKeyFromBackend(BackendComponent backend) { return autogradKeyOf(backend); }

}  // namespace shunt
