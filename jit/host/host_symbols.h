// The running process's symbols by name and by address: what compiled code calls, and what a dispatch table points to.
//
// libshunt carries a table of every symbol its kernels define or use, hidden ones too (tools/host_symbols writes it
// when the library is linked). It costs nothing at load time: addresses are offsets within the library, and what it
// exports or only uses is looked up when asked for. Any thread may call; one lock around the look-ups that are
// remembered.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace shunt::jit {

/// Stands before a name in a module where the host's function is meant and not a body that may be imported.
inline constexpr std::string_view kHostPrefix = "host:";

class HostSymbols {
 public:
  static const HostSymbols& instance();

  /// The address of a function or variable; of libc, libstdc++ and libgcc too, and by a qualified name of another
  /// library (library_symbols.h). A kHostPrefix is ignored.
  std::optional<uint64_t> address(std::string_view name) const;
  /// Whether it is libshunt's own, and not exported.
  bool isHidden(std::string_view name) const;
  /// The name of the function or variable that begins at `address`; one of them where several do.
  std::optional<std::string_view> name(uint64_t address) const;
  /// What the sources say of a function (Note [Annotated functions], shunt/core/annotate.h); "" for nothing.
  std::string_view annotation(std::string_view name) const;
  /// The function with an annotation that only one has; "" where none has it.
  std::string_view annotated(std::string_view annotation) const;
  /// What to add to the thread pointer to get the thread's own `name`.
  std::optional<int64_t> tls_offset(std::string_view name) const;

  /// All thread-local variables' offsets, as text: what code that was compiled with them depends on.
  std::string thread_locals() const;

  /// libshunt's section shunt_bc; empty where it was built without bitcode.
  std::string_view bitcode() const;
  /// Entries of the table.
  size_t size() const;

 private:
  HostSymbols();
  struct State;
  State* state_;  // never destroyed
};

}  // namespace shunt::jit
