// Devices: a device type and an index. All device types of PyTorch exist by name. A type works if a backend has
// registered kernels for it. A value type; any thread.
#pragma once

#include <shunt/core/dispatch_key.h>
#include <shunt/core/error.h>

#include <cstdint>
#include <functional>
#include <string>

namespace shunt {

/// The number of a device among those of its type, from 0. -1: the current one.
using DeviceIndex = int8_t;

// X(name, lower-case name, backend). The position is PyTorch's number of the type.
// clang-format off
#define SHUNT_FORALL_DEVICE_TYPES(X)                                                                             \
  X(CPU, "cpu", CPU) X(CUDA, "cuda", CUDA) X(MKLDNN, "mkldnn", CPU) X(OPENGL, "opengl", CPU)                     \
  X(OPENCL, "opencl", CPU) X(IDEEP, "ideep", CPU) X(HIP, "hip", HIP) X(FPGA, "fpga", CPU) X(ORT, "ort", CPU)     \
  X(XLA, "xla", XLA) X(Vulkan, "vulkan", CPU) X(Metal, "metal", CPU) X(XPU, "xpu", XPU) X(MPS, "mps", MPS)       \
  X(Meta, "meta", Meta) X(HPU, "hpu", HPU) X(VE, "ve", VE) X(Lazy, "lazy", Lazy) X(IPU, "ipu", IPU)              \
  X(PrivateUse1, "privateuseone", PrivateUse1) X(PrivateUse2, "privateusetwo", PrivateUse2)                      \
  X(PrivateUse3, "privateusethree", PrivateUse3)

// clang-format on
enum class DeviceType : int8_t {
#define SHUNT_DEVICE(name, text, backend) name,
  SHUNT_FORALL_DEVICE_TYPES(SHUNT_DEVICE)
#undef SHUNT_DEVICE
};
/// The number of device types, and short names of the common ones.
inline constexpr int kNumDeviceTypes = static_cast<int>(DeviceType::PrivateUse3) + 1;
inline constexpr DeviceType kCPU = DeviceType::CPU;
inline constexpr DeviceType kCUDA = DeviceType::CUDA;
inline constexpr DeviceType kMeta = DeviceType::Meta;
inline constexpr DeviceType kPrivateUse1 = DeviceType::PrivateUse1;
inline constexpr DeviceType kPrivateUse2 = DeviceType::PrivateUse2;
inline constexpr DeviceType kPrivateUse3 = DeviceType::PrivateUse3;
/// Whether the type is reserved for backends outside the library.
constexpr bool isPrivateUse(DeviceType type) { return type >= kPrivateUse1; }

/// A device type and an index.
class SHUNT_API Device {
 public:
  constexpr Device(DeviceType type, DeviceIndex index = -1) : type_(type), index_(index) {}
  /// From "cpu", "cuda:1", "privateuseone" or a name that PrivateUse1, 2 or 3 was renamed to. The index is at most 127.
  /// Throws for any other text.
  Device(const std::string& text);
  Device(const char* text) : Device(std::string(text)) {}

  constexpr DeviceType type() const { return type_; }
  /// The device's number, or -1 for the current device of the type.
  constexpr DeviceIndex index() const { return index_; }
  constexpr bool has_index() const { return index_ >= 0; }
  constexpr bool is_cpu() const { return type_ == DeviceType::CPU; }
  constexpr bool is_cuda() const { return type_ == DeviceType::CUDA; }
  constexpr bool is_meta() const { return type_ == DeviceType::Meta; }
  constexpr bool operator==(const Device&) const = default;
  /// The text that Device(text) accepts: "cpu", "cuda:1".
  std::string str() const;

 private:
  DeviceType type_;
  DeviceIndex index_;
};

/// "cpu", "cuda", or what a PrivateUse type was renamed to.
SHUNT_API const char* deviceTypeName(DeviceType type);
/// The backend component of a device type. Types without one map to CPU. The reverse, deviceTypeOf, throws for a
/// backend without a device type.
SHUNT_API BackendComponent backendOf(DeviceType type);
SHUNT_API DeviceType deviceTypeOf(BackendComponent backend);
inline std::ostream& operator<<(std::ostream& out, const Device& d) { return out << d.str(); }
inline std::ostream& operator<<(std::ostream& out, DeviceType t) { return out << deviceTypeName(t); }

}  // namespace shunt

template <>
struct std::hash<shunt::Device> {
  size_t operator()(const shunt::Device& d) const noexcept {
    return static_cast<size_t>(static_cast<int>(d.type()) * 256 + d.index() + 1);
  }
};
