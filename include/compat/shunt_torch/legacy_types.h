// Types that old sources use, from before TensorOptions: backends as an enum, and tensor "types". Any thread.
#pragma once

#include <shunt/shunt.h>

#include <map>
#include <mutex>

namespace shunt {

enum class Backend : uint8_t { CPU, CUDA, Meta, SparseCPU, SparseCUDA, Undefined };

inline DeviceType backendToDeviceType(Backend backend) {
  switch (backend) {
    case Backend::CPU:
    case Backend::SparseCPU:
      return kCPU;
    case Backend::CUDA:
    case Backend::SparseCUDA:
      return kCUDA;
    case Backend::Meta:
      return kMeta;
    case Backend::Undefined:
      break;
  }
  throw Error("backendToDeviceType: the backend is Undefined; expected CPU, CUDA, Meta or a sparse one");
}

/// A backend and a dtype. Converts to the TensorOptions of such tensors.
class DeprecatedTypeProperties {
 public:
  DeprecatedTypeProperties(Backend backend, ScalarType dtype) : backend_(backend), dtype_(dtype) {}
  Backend backend() const { return backend_; }
  DeviceType device_type() const { return backendToDeviceType(backend_); }
  ScalarType scalarType() const { return dtype_; }
  bool is_cuda() const { return backend_ == Backend::CUDA; }
  bool is_sparse() const { return backend_ == Backend::SparseCPU || backend_ == Backend::SparseCUDA; }
  TensorOptions options() const {
    return TensorOptions(dtype_).device(device_type()).layout(is_sparse() ? kSparse : kStrided);
  }
  operator TensorOptions() const { return options(); }
  DeprecatedTypeProperties& toScalarType(ScalarType dtype) const;
  friend bool operator==(const DeprecatedTypeProperties&, const DeprecatedTypeProperties&) = default;

 private:
  Backend backend_;
  ScalarType dtype_;
};

namespace detail {
/// The process's only instance for the pair.
inline DeprecatedTypeProperties& typeProperties(Backend backend, ScalarType dtype) {
  static std::mutex mutex;
  static std::map<std::pair<Backend, ScalarType>, DeprecatedTypeProperties> all;
  const std::lock_guard lock(mutex);
  return all.try_emplace({backend, dtype}, backend, dtype).first->second;
}
}  // namespace detail

inline DeprecatedTypeProperties& DeprecatedTypeProperties::toScalarType(ScalarType dtype) const {
  return detail::typeProperties(backend_, dtype);
}
inline DeprecatedTypeProperties& CPU(ScalarType dtype) { return detail::typeProperties(Backend::CPU, dtype); }
inline DeprecatedTypeProperties& CUDA(ScalarType dtype) { return detail::typeProperties(Backend::CUDA, dtype); }

inline DeprecatedTypeProperties& getDeprecatedTypeProperties(Backend backend, ScalarType dtype) {
  return detail::typeProperties(backend, dtype);
}

inline bool hasCUDA() { return cuda::is_available(); }

}  // namespace shunt
