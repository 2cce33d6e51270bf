// What dispatch needs to know of a tensor besides its keys, in 16 bits: dtype (bits 0-4), device type (5-9), layout
// class (10-11), defined (12). 0 is the undefined tensor's. Every tensor keeps its own up to date
// (TensorImpl::signature).
#pragma once

#include <shunt/tensor/device.h>
#include <shunt/tensor/scalar_type.h>

#include <cstdint>

namespace shunt {

/// How elements lie.
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
/// Same dtype and device, both defined or neither.
constexpr bool sameKind(uint16_t a, uint16_t b) { return ((a ^ b) & ~kLayoutMask) == 0; }
/// Of a contiguous CPU tensor (of more than one element) of any dtype.
constexpr bool isPlainCpu(uint16_t s) {
  return (s & ~kDtypeMask) == make(ScalarType{0}, kCPU, LayoutClass::kContiguous);
}

}  // namespace detail::signature
}  // namespace shunt
