// Devices: a type and an index. Every DeviceType of PyTorch exists by name; which ones work is a matter of which
// backends have registered kernels. A value type; any thread.
#pragma once

#include <shunt/core/dispatch_key.h>
#include <shunt/core/error.h>

#include <cstdint>
#include <functional>
#include <string>

namespace shunt {

/// Which of several devices of a type; -1: the current one.
using DeviceIndex = int8_t;

// X(name, lower-case name, backend). Numbers are PyTorch's, by position.
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
/// Whether the type is one that backends outside the library use.
constexpr bool isPrivateUse(DeviceType type) { return type >= kPrivateUse1; }

/// A device type and an index.
class SHUNT_API Device {
 public:
  constexpr Device(DeviceType type, DeviceIndex index = -1) : type_(type), index_(index) {}
  /// "cpu", "cuda:1", "privateuseone" or the name that PrivateUse1, 2 or 3 was renamed to. Throws on anything else.
  Device(const std::string& text);
  Device(const char* text) : Device(std::string(text)) {}

  constexpr DeviceType type() const { return type_; }
  /// Its number; -1 where it has none, which means the current device of the type.
  constexpr DeviceIndex index() const { return index_; }
  constexpr bool has_index() const { return index_ >= 0; }
  constexpr bool is_cpu() const { return type_ == DeviceType::CPU; }
  constexpr bool is_cuda() const { return type_ == DeviceType::CUDA; }
  constexpr bool is_meta() const { return type_ == DeviceType::Meta; }
  constexpr bool operator==(const Device&) const = default;
  /// "cpu", "cuda:1".
  std::string str() const;

 private:
  DeviceType type_;
  DeviceIndex index_;
};

/// "cpu", "cuda", or what a PrivateUse type was renamed to.
SHUNT_API const char* deviceTypeName(DeviceType type);
/// The backend bit of a device type; only types with a backend of their own (CPU, CUDA, ...) answer exactly.
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
