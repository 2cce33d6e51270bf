// Bytes that are read one after the other: of a file, or of an entry of an archive.
#pragma once

#include "src/base/input_file.h"

namespace shunt::files {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// All of them, those that were read included.
  virtual uint64_t size() const = 0;
  /// The next n, of which no more may be asked than there are.
  virtual void read(void* to, size_t n) = 0;
  /// Throws where what was read, all of it, isn't what was written.
  virtual void finish() = 0;
};

class FileBytes : public ByteSource {
 public:
  explicit FileBytes(const detail::InputFile& file) : file_(file) {}
  uint64_t size() const override { return file_.size(); }
  void read(void* to, size_t n) override {
    file_.read(at_, to, n);
    at_ += n;
  }
  void finish() override {}

 private:
  const detail::InputFile& file_;
  uint64_t at_ = 0;
};

}  // namespace shunt::files
