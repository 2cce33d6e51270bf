// The data of one entry of a zip archive, inflated where it is deflated, and checked against its CRC. One thread.
#pragma once

#include "src/files/byte_source.h"
#include "src/files/zip_directory.h"

#include <memory>

namespace shunt::files {

class ZipEntryBytes : public ByteSource {
 public:
  ZipEntryBytes(const detail::InputFile& file, const ZipEntry& entry);
  ~ZipEntryBytes() override;

  uint64_t size() const override { return entry_.size; }
  void read(void* to, size_t n) override;
  void finish() override;

 private:
  struct Inflater;
  [[noreturn]] void damaged(const char* why) const;
  /// At least one byte of at most n, unless the data ends.
  size_t inflateSome(void* to, size_t n);

  const detail::InputFile& file_;
  const ZipEntry& entry_;
  std::unique_ptr<Inflater> inflater_;  // null for stored data
  uint64_t packed_read_ = 0;
  uint64_t crc_ = 0;
};

}  // namespace shunt::files
