// Little-endian numbers in bytes. Pure functions.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace shunt::files {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they lie in memory");

/// The caller has made sure that `at` and what follows are inside.
template <std::unsigned_integral T>
T numberAt(std::string_view bytes, size_t at) {
  T out;
  std::memcpy(&out, bytes.data() + at, sizeof out);
  return out;
}

template <std::unsigned_integral T>
void append(std::string& bytes, T number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

}  // namespace shunt::files
