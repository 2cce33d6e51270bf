// Signature: the facts about a tensor that dispatch needs in addition to its keys, in 16 bits. Every tensor keeps its
// signature up to date (TensorImpl::signature). Pure functions; any thread.
//
// Bits 0-4: dtype. Bits 5-9: device type. Bits 10-11: layout class. Bit 12: defined. An undefined tensor has 0.
#pragma once

#include <shunt/tensor/device.h>
#include <shunt/tensor/scalar_type.h>

#include <cstdint>

namespace shunt {

/// How elements lie in memory. kInnerContiguous: not contiguous, but the last dimension has stride 1.
enum class LayoutClass : uint8_t { kContiguous, kOneElement, kInnerContiguous, kAnyStrides };

constexpr const char* toString(LayoutClass layout) {
  constexpr const char* kNames[] = {"contiguous", "one element", "rows", "strided"};
  return kNames[static_cast<size_t>(layout)];
}

namespace detail::signature {

inline constexpr unsigned kDtypeMask = 0x1f;
inline constexpr unsigned kDeviceShift = 5;
inline constexpr unsigned kLayoutShift = 10;
inline constexpr unsigned kDefined = 1u << 12;
inline constexpr unsigned kLayoutMask = 3u << kLayoutShift;

constexpr uint16_t make(ScalarType dtype, DeviceType device, LayoutClass layout) {
  return static_cast<uint16_t>(static_cast<unsigned>(dtype) | static_cast<unsigned>(device) << kDeviceShift |
                               static_cast<unsigned>(layout) << kLayoutShift | kDefined);
}
constexpr ScalarType dtypeOf(uint16_t s) { return static_cast<ScalarType>(s & kDtypeMask); }
constexpr LayoutClass layoutOf(uint16_t s) { return static_cast<LayoutClass>((s & kLayoutMask) >> kLayoutShift); }
/// Whether dtype and device are the same, and both tensors are defined or neither is.
constexpr bool sameKind(uint16_t a, uint16_t b) { return ((a ^ b) & ~kLayoutMask) == 0; }
/// Whether it is the signature of a contiguous CPU tensor of any dtype, with other than one element.
constexpr bool isPlainCpu(uint16_t s) {
  return (s & ~kDtypeMask) == make(ScalarType{0}, kCPU, LayoutClass::kContiguous);
}

}  // namespace detail::signature
}  // namespace shunt
