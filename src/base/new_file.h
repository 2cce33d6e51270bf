// A file that comes into place whole, or not at all: written beside its place under another name, and renamed when it
// is on the disk. What stood there before stays as it is until then, also for those who have it open or mapped.
//
// A link is followed: the file that it leads to is replaced. Permissions are those of a new file (umask). One thread;
// of several that write one path the last to commit() stays.
#pragma once

#include "src/base/about_file.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace shunt::detail {

class NewFile {
 public:
  /// Throws where no file can be made in the folder, and where something other than a regular file has the name.
  explicit NewFile(AboutFile about);
  /// Removes what was written, unless it was committed.
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  const AboutFile& about() const { return about_; }
  /// Bytes so far.
  uint64_t size() const { return size_; }
  void write(const void* data, size_t n);
  void write(const std::string& bytes) { write(bytes.data(), bytes.size()); }
  /// Puts it in place.
  void commit();

 private:
  void flush();
  void writeOut(const void* data, size_t n);

  AboutFile about_;
  std::filesystem::path target_;  // behind links
  Descriptor folder_;
  std::string unfinished_;  // its name until then; empty when there is none
  Descriptor file_;
  std::string buffer_;
  uint64_t size_ = 0;
};

}  // namespace shunt::detail
