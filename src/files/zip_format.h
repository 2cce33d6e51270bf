// Numbers of the zip format, for reader and writer.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shunt::files::zip {

inline constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50,
                          kLocator64 = 0x07064b50, kDescriptor = 0x08074b50;
inline constexpr size_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22, kEnd64Bytes = 56, kLocator64Bytes = 20;
/// In a field of 16 or 32 bits: the number stands in the zip64 record.
inline constexpr uint16_t kIn64Short = 0xffff;
inline constexpr uint32_t kIn64 = 0xffffffff;
inline constexpr uint16_t kExtra64 = 1;
inline constexpr uint16_t kStored = 0, kDeflated = 8;
inline constexpr uint16_t kFlagEncrypted = 1, kFlagDescriptor = 8, kFlagUtf8 = 1 << 11;
inline constexpr uint16_t kVersion = 20, kVersion64 = 45;

}  // namespace shunt::files::zip
