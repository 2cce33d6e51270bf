// TensorOptions: what a factory needs beside sizes: dtype, layout, device, requires_grad, pinned memory, memory format;
// each may be unset. A value type; any thread.
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
  /// A template, so that {kCUDA, 1} makes options and not a device first.
  template <class T>
    requires std::is_same_v<T, Device>
  TensorOptions(T device) : device_(device) {}
  TensorOptions(DeviceType device) : device_(Device(device)) {}
  /// What a Device can be made of: {kCUDA, 1}.
  TensorOptions(DeviceType device, DeviceIndex index) : device_(Device(device, index)) {}
  /// A template, so that the number 0 is no null pointer to a name: arange(0, 2, 0).
  template <class T>
    requires std::is_same_v<T, const char*>
  TensorOptions(T device) : device_(Device(device)) {}
  TensorOptions(const std::string& device) : device_(Device(device)) {}
  TensorOptions(MemoryFormat format) : memory_format_(format) {}

  /// The same options with this one set, or unset by nullopt; so all setters.
  TensorOptions dtype(std::optional<ScalarType> v) const {
    auto r = *this;
    r.dtype_ = v;
    return r;
  }
  TensorOptions device(DeviceType type, DeviceIndex index) const { return device(Device(type, index)); }
  /// On that CUDA device.
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
  /// Page-locked memory.
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

  /// The option, or its default where it is unset.
  ScalarType dtype() const { return dtype_.value_or(get_default_dtype()); }
  Device device() const { return device_.value_or(Device(kCPU)); }
  Layout layout() const { return layout_.value_or(kStrided); }
  bool requires_grad() const { return requires_grad_.value_or(false); }

  /// The option, nothing where it is unset.
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

/// Options with one of them set: zeros({2}, dtype(kLong).device(kMeta)).
inline TensorOptions dtype(ScalarType t) { return TensorOptions(t); }
inline TensorOptions device(Device d) { return TensorOptions(d); }
inline TensorOptions device_index(DeviceIndex index) { return TensorOptions().device_index(index); }
inline TensorOptions layout(Layout l) { return TensorOptions().layout(l); }
inline TensorOptions requires_grad(bool on = true) { return TensorOptions().requires_grad(on); }

}  // namespace shunt
