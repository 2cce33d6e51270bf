// Libraries and programs of others whose kernels carry bitcode, and so can be inlined into thunks: what CMake's
// shunt_add_kernels makes of a target.
//
// A KernelLibrary object in such a library tells the compiler of it while it is loaded. Made before the library's
// registrations, and destroyed after them, so a kernel that is registered has its bitcode known. Any thread.
#pragma once

#include <shunt/core/function_ref.h>
#include <shunt/core/macros.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace shunt::jit {

/// A library whose kernels carry bitcode.
class SHUNT_API KernelLibrary {
 public:
  /// [begin, end): section shunt_bc of the library that they lie in. It is copied.
  KernelLibrary(const char* begin, const char* end);
  /// From here on no compile reads anything of the library.
  ~KernelLibrary();
  KernelLibrary(const KernelLibrary&) = delete;
  KernelLibrary& operator=(const KernelLibrary&) = delete;

 private:
  uint64_t number_ = 0;
};

/// One loaded library. Constant but for `index`; whoever holds one (a lease) may read it when the library is gone.
struct LoadedLibrary {
  using Range = std::pair<uint64_t, uint64_t>;  // addresses [first, second)

  uint64_t number = 0;  // never given to another
  std::string path;     // of its file
  bool main_program = false;
  uint64_t bias = 0;  // from addresses in the file to those in memory
  std::vector<Range> segments;
  std::shared_ptr<const std::string> bitcode;
  mutable std::shared_ptr<const void>
      index;  // what the compiler has read of it; touched inside withLoadedLibraries only
};
/// Keeps a library's bitcode in memory.
using LibraryLease = std::shared_ptr<const LoadedLibrary>;

/// Those that are loaded, oldest first.
SHUNT_API std::vector<LibraryLease> kernel_libraries();
/// Calls `use` while none of them can go. It must not call the dynamic linker, whose lock may be held by who is loading
/// one.
SHUNT_API void withLoadedLibraries(FunctionRef<void(const std::vector<LibraryLease>&)> use);
/// The number of the one that an address lies in; 0 where it is none of theirs.
SHUNT_API uint64_t libraryNumberOf(const void* address);
/// Grows with every library that comes or goes: addresses noted at another generation may be something else's by now.
SHUNT_API uint64_t libraryGeneration();

}  // namespace shunt::jit
