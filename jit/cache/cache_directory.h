// The directory of the disk cache: its own user's, and nobody else may write in it or in its files.
//
// Note [Whose files are run]
// What is loaded is run, so a file counts only if nobody but this user can have written it: the directory and the file
// belong to the process's effective user, are no symbolic links, and give no other the right to write. Files are opened
// in the directory by the descriptor that was asked about it, so paths that change meanwhile lead nowhere else. A file
// is read, not mapped: who changes it meanwhile changes no code. It comes into place by a rename, whole.
//
// Note [Descriptors are the program's]
// A program may close descriptors that it doesn't know, as one that becomes a daemon does, and get their numbers for
// files of its own. So a directory is opened for each use, and none is kept between them.
#pragma once

#include <llvm/ADT/StringRef.h>
#include <llvm/Support/Error.h>

#include <cstdint>
#include <string>
#include <vector>

namespace shunt::jit {

class CacheDirectory {
 public:
  /// Makes it, and what leads to it, if `create`. Fails where it can't be trusted or opened.
  static llvm::Expected<CacheDirectory> open(const std::string& path, bool create);
  CacheDirectory(CacheDirectory&& other) noexcept : descriptor_(other.descriptor_) { other.descriptor_ = -1; }
  CacheDirectory& operator=(CacheDirectory&& other) noexcept;
  ~CacheDirectory();

  /// False: there is no such file. An error: there is, and it can't be used.
  llvm::Expected<bool> read(const std::string& name, std::string& content) const;
  /// All or nothing; what stood there before is replaced.
  llvm::Error write(const std::string& name, llvm::StringRef content) const;
  void remove(const std::string& name) const;

  struct File {
    std::string name;
    uint64_t bytes;
    int64_t used;  // seconds since 1970: written, or read on a later day
  };
  /// Of regular files; those being written, or left over, have names that begin with kUnfinished.
  std::vector<File> files() const;
  /// Removes what was used longest ago until no more than `most` bytes are left, and what was left over.
  void trim(uint64_t most) const;

  static constexpr llvm::StringLiteral kUnfinished = ".new-";

 private:
  explicit CacheDirectory(int descriptor) : descriptor_(descriptor) {}
  int descriptor_ = -1;
};

}  // namespace shunt::jit
