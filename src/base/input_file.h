// A regular file that is read by position, or mapped. One thread at a time; a mapping is anyone's.
#pragma once

#include "src/base/about_file.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace shunt::detail {

/// A whole file in memory, copied page by page as it is written to: the file never changes.
class PrivateMapping {
 public:
  PrivateMapping(const AboutFile& about, int descriptor, uint64_t size);
  ~PrivateMapping();
  PrivateMapping(const PrivateMapping&) = delete;
  PrivateMapping& operator=(const PrivateMapping&) = delete;

  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
  uint64_t size_;
};

class InputFile {
 public:
  /// Throws for what isn't there, can't be read, or is no regular file. Opens nothing that would wait.
  explicit InputFile(AboutFile about);

  const AboutFile& about() const { return about_; }
  uint64_t size() const { return size_; }
  /// Bytes at + [0, n), which lie below size(). Throws where the file was cut off meanwhile.
  void read(uint64_t at, void* to, size_t n) const;
  /// Null for an empty file.
  std::shared_ptr<const PrivateMapping> map() const;

 private:
  AboutFile about_;
  Descriptor file_;
  uint64_t size_ = 0;
};

}  // namespace shunt::detail
