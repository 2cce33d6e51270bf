// Writes a zip archive of stored entries, zip64 where numbers need it. The same entries give the same bytes. One
// thread.
#pragma once

#include "src/base/new_file.h"

#include <cstdint>
#include <span>
#include <string>

namespace shunt::files {

class ZipWriter {
 public:
  explicit ZipWriter(detail::NewFile& file) : file_(file) {}

  /// An entry whose data are the parts, one behind the other. The name is UTF-8 of at most 65535 bytes.
  void add(const std::string& name, std::span<const std::span<const std::byte>> parts);
  /// The directory, after the last entry.
  void finish();

 private:
  detail::NewFile& file_;
  std::string directory_;
  uint64_t entries_ = 0;
};

/// The local header of an entry and its record in the directory; `at`: where the header begins.
struct ZipHeaders {
  std::string local, central;
};
ZipHeaders zipHeaders(const std::string& name, uint32_t crc, uint64_t size, uint64_t at);

/// What stands behind the entries: the records and what says where they are.
std::string zipEnd(uint64_t entries, uint64_t directory_bytes, uint64_t directory_at);

}  // namespace shunt::files
