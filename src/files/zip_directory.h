// The entries of a zip archive, from its central directory (PKWARE's APPNOTE.TXT), zip64 included. Pure functions.
//
// The directory's word is not taken: local headers must say the same, and headers, data, descriptors and the directory
// must fill the file from its first byte to its last. So entries don't overlap, none is hidden, and a file that was cut
// or has grown is seen.
#pragma once

#include "src/base/input_file.h"

#include <string>
#include <vector>

namespace shunt::files {

struct ZipEntry {
  std::string name;
  bool deflated = false;
  uint32_t crc = 0;  // of the data as it was
  uint64_t packed = 0, size = 0;
  uint64_t at = 0;  // where the packed data begins
};

/// In the order of the file. Throws for what isn't stored or deflated, for names that are there twice, and for sizes
/// that no deflated data can have.
std::vector<ZipEntry> readZipDirectory(const detail::InputFile& file);

}  // namespace shunt::files
