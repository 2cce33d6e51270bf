// Errors of reading and writing a file: each begins with the function that was called and the file's path. Any thread.
#pragma once

#include <shunt/core/error.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <utility>

namespace shunt::detail {

/// What a file or a caller wrote, for a message: in quotes, cut after `most` bytes, with \x1b for what can't be
/// printed.
std::string shown(std::string_view text, size_t most = 100);

bool isUtf8(std::string_view text);

struct AboutFile {
  const char* function;
  std::string path;

  /// Throws an Error: "function: 'path': " and the parts.
  template <class... Parts>
  [[noreturn]] SHUNT_COLD void fail(const Parts&... parts) const {
    throw Error(str(function, ": ", shown(path, std::string_view::npos), ": ", parts...));
  }
  /// The same, and what the system says of `error`, an errno.
  [[noreturn]] SHUNT_COLD void failWith(int error, const char* what) const;
};

/// A file descriptor, closed at the end.
class Descriptor {
 public:
  explicit Descriptor(int number) noexcept : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { close(); }

  int get() const { return number_; }
  bool valid() const { return number_ >= 0; }
  /// What close(2) returns; 0 where it is closed already.
  int close() noexcept;

 private:
  int number_;
};

}  // namespace shunt::detail
