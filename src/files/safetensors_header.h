// The header of a .safetensors file: a length of 8 bytes, and a JSON object of that length that says of each tensor its
// dtype, shape, and place in the bytes that follow (github.com/huggingface/safetensors, "Format"). Pure functions.
#pragma once

#include "src/files/about_tensor.h"
#include "src/files/loaded.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace shunt::files {

/// The limit of the format's other readers.
inline constexpr uint64_t kMostHeaderBytes = 100'000'000;

struct SafetensorsHeader {
  struct Entry {
    ScalarType dtype = ScalarType::Undefined;
    Sizes sizes;
    uint64_t begin = 0, end = 0;  // in the bytes after the header
  };
  std::map<std::string, Entry> tensors;
  std::map<std::string, std::string> metadata;
};

/// "F32"; empty for a dtype that the format doesn't have.
std::string_view safetensorsName(ScalarType dtype);
std::optional<ScalarType> dtypeOfSafetensors(std::string_view name);

/// Throws unless the text is a header of this form, without duplicate names, and its tensors fill `data_bytes` bytes
/// without gap or overlap.
SafetensorsHeader parseSafetensorsHeader(const AboutFile& about, std::string_view text, uint64_t data_bytes);

}  // namespace shunt::files
