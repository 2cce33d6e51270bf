// The symbols of one library of somebody else's, hidden and internal ones too, as its file's symbol table has them.
//
// Note [Names of other libraries]
// Two libraries may have functions of one name that are not the same: of unnamed namespaces, hidden ones, templates on
// types that only share their names. So whatever such a library defines itself is called "lib<number>:<name>" in
// modules and objects, and only what it uses from elsewhere goes by its plain name, which means libshunt's or the
// process's. A number is never given to another library (shunt/jit/kernel_library.h), so a name means nothing in
// another process.
//
// Note [What a library is bound to]
// The dynamic linker decides once which function of a name a library uses, when it loads it or, lazily, at the first
// call; a library that comes into the global scope later changes nothing. A look-up by name at compile time would see
// it. So what a name means to a library is read from where the dynamic linker wrote it: the slots of the library's own
// relocations. Immutable once read: any thread. A look-up by a qualified name finds a library while somebody holds it,
// as every compile holds those that were loaded when it began.
#pragma once

#include <shunt/jit/kernel_library.h>

#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/Error.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace shunt::jit {

/// "lib7:name" in its parts.
struct QualifiedName {
  uint64_t library;
  llvm::StringRef name;

  static std::optional<QualifiedName> parse(llvm::StringRef text);
  /// Without the library, where one is named.
  static llvm::StringRef bare(llvm::StringRef text) {
    const auto qualified = parse(text);
    return qualified ? qualified->name : text;
  }
  static std::string prefix(uint64_t library) { return "lib" + std::to_string(library) + ":"; }
};

/// What the process's global scope has under a name, or 0. Unlike dlsym(RTLD_DEFAULT), which makes the caller depend on
/// what it finds, it keeps no library loaded.
uint64_t inGlobalScope(const std::string& name);

class LibrarySymbols {
 public:
  /// Reads the file of a library that is loaded and stays so meanwhile. An error where the file is not the one that was
  /// loaded, or has no symbol table.
  static llvm::Expected<std::shared_ptr<const LibrarySymbols>> read(const LoadedLibrary& library);
  static std::shared_ptr<const LibrarySymbols> find(uint64_t number);

  uint64_t number() const { return number_; }
  /// Where the library's own code finds a function or variable that it defines; nothing where several have the name.
  std::optional<uint64_t> address(llvm::StringRef name) const;
  bool defines(llvm::StringRef name) const { return symbols_.count(name) != 0; }
  /// Whether the library's uses of a name that it doesn't define mean `address`, which the name has for libshunt.
  bool uses(llvm::StringRef name, uint64_t address) const;
  /// Whether one function or variable alone has the name. Unlike address(), it never asks the dynamic linker.
  bool definesOne(llvm::StringRef name) const {
    const auto found = symbols_.find(name);
    return found != symbols_.end() && !found->getValue().ambiguous;
  }
  /// The function or variable that begins at an address, if its name is the only one of its kind.
  std::optional<llvm::StringRef> name(uint64_t address) const;

 private:
  struct Symbol {
    uint64_t address = 0;
    bool ambiguous = false;    // several have the name, or its address is each thread's own
    bool preemptible = false;  // the dynamic linker may have taken another library's
  };
  // A place that the dynamic linker fills in with a name's address.
  struct Slot {
    uint64_t place = 0;
    uint64_t address = 0;  // once it is known
    bool lazy = false;     // filled in at the first call
  };
  llvm::Error readSlots(const llvm::object::ELFObjectFileBase& file, const LoadedLibrary& library);
  bool leadsToSymbol(uint64_t address, llvm::StringRef name) const;
  std::optional<uint64_t> bound(const Slot& slot, llvm::StringRef name) const;

  uint64_t number_ = 0;
  std::vector<LoadedLibrary::Range> segments_;
  llvm::StringMap<Symbol> symbols_;
  llvm::StringMap<Slot> slots_;
  std::vector<std::pair<uint64_t, llvm::StringRef>> by_address_;  // sorted
};

}  // namespace shunt::jit
