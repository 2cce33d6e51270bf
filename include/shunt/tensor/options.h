// TensorOptions: a factory's arguments other than sizes: dtype, layout, device, requires_grad, pinned memory, memory
// format. Each may be unset. A value type; any thread.
#pragma once

#include <shunt/tensor/device.h>
#include <shunt/tensor/layout.h>
#include <shunt/tensor/scalar_type.h>

#include <optional>
#include <type_traits>

namespace shunt {

class TensorOptions {
 public:
  TensorOptions() = default;
  TensorOptions(ScalarType dtype) : dtype_(dtype) {}
  TensorOptions(Layout layout) : layout_(layout) {}
  /// A template, so that {kCUDA, 1} converts to options directly and not to a Device first.
  template <class T>
    requires std::is_same_v<T, Device>
  TensorOptions(T device) : device_(device) {}
  TensorOptions(DeviceType device) : device_(Device(device)) {}
  /// Takes the arguments of Device: {kCUDA, 1}.
  TensorOptions(DeviceType device, DeviceIndex index) : device_(Device(device, index)) {}
  /// A template, so that the number 0 is not taken for a null pointer to a name: arange(0, 2, 0).
  template <class T>
    requires std::is_same_v<T, const char*>
  TensorOptions(T device) : device_(Device(device)) {}
  TensorOptions(const std::string& device) : device_(Device(device)) {}
  TensorOptions(MemoryFormat format) : memory_format_(format) {}

  /// Each setter returns a copy with one option set; nullopt unsets it.
  TensorOptions dtype(std::optional<ScalarType> v) const {
    auto r = *this;
    r.dtype_ = v;
    return r;
  }
  TensorOptions device(DeviceType type, DeviceIndex index) const { return device(Device(type, index)); }
  /// Sets the device to CUDA with this index.
  TensorOptions device_index(DeviceIndex index) const { return device(kCUDA, index); }
  TensorOptions layout(std::optional<Layout> v) const {
    auto r = *this;
    r.layout_ = v;
    return r;
  }
  TensorOptions device(std::optional<Device> v) const {
    auto r = *this;
    r.device_ = v;
    return r;
  }
  TensorOptions requires_grad(std::optional<bool> v) const {
    auto r = *this;
    r.requires_grad_ = v;
    return r;
  }
  /// Whether to use page-locked memory.
  TensorOptions pinned_memory(std::optional<bool> v) const {
    auto r = *this;
    r.pinned_memory_ = v;
    return r;
  }
  /// The order of dimensions in memory.
  TensorOptions memory_format(std::optional<MemoryFormat> v) const {
    auto r = *this;
    r.memory_format_ = v;
    return r;
  }

  /// The option, or its default when it is unset.
  ScalarType dtype() const { return dtype_.value_or(get_default_dtype()); }
  Device device() const { return device_.value_or(Device(kCPU)); }
  Layout layout() const { return layout_.value_or(kStrided); }
  bool requires_grad() const { return requires_grad_.value_or(false); }

  /// The option, or nullopt when it is unset.
  std::optional<ScalarType> dtype_opt() const { return dtype_; }
  std::optional<Device> device_opt() const { return device_; }
  std::optional<Layout> layout_opt() const { return layout_; }
  std::optional<bool> requires_grad_opt() const { return requires_grad_; }
  std::optional<bool> pinned_memory_opt() const { return pinned_memory_; }
  std::optional<MemoryFormat> memory_format_opt() const { return memory_format_; }

 private:
  std::optional<ScalarType> dtype_;
  std::optional<Layout> layout_;
  std::optional<Device> device_;
  std::optional<bool> requires_grad_;
  std::optional<bool> pinned_memory_;
  std::optional<MemoryFormat> memory_format_;
};

/// Options with one option set: zeros({2}, dtype(kLong).device(kMeta)).
inline TensorOptions dtype(ScalarType t) { return TensorOptions(t); }
inline TensorOptions device(Device d) { return TensorOptions(d); }
inline TensorOptions device_index(DeviceIndex index) { return TensorOptions().device_index(index); }
inline TensorOptions layout(Layout l) { return TensorOptions().layout(l); }
inline TensorOptions requires_grad(bool on = true) { return TensorOptions().requires_grad(on); }

}  // namespace shunt
