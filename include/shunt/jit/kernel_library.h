// Kernel libraries: libraries and programs of other projects whose kernels carry bitcode, so the compiler can inline
// them into thunks. CMake's shunt_add_kernels makes a target one.
//
// A KernelLibrary object in such a library registers it with the compiler. It is made before the library's
// registrations and destroyed after them, so the bitcode of every registered kernel is known. Any thread.
#pragma once

#include <shunt/core/function_ref.h>
#include <shunt/core/macros.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace shunt::jit {

/// The registration of a library with the compiler, while it lives.
class SHUNT_API KernelLibrary {
 public:
  /// [begin, end) is the section shunt_bc of the library, which is copied.
  KernelLibrary(const char* begin, const char* end);
  /// After it, no compile reads memory of the library.
  ~KernelLibrary();
  KernelLibrary(const KernelLibrary&) = delete;
  KernelLibrary& operator=(const KernelLibrary&) = delete;

 private:
  uint64_t number_ = 0;
};

/// One registered library. Constant, except for `index`. A LibraryLease may be read after the library was unloaded.
struct LoadedLibrary {
  using Range = std::pair<uint64_t, uint64_t>;  // addresses [first, second)

  uint64_t number = 0;                         // never reused
  std::string path;                            // of its file
  bool main_program = false;                   // it is the executable, not a shared library
  uint64_t bias = 0;                           // added to an address in the file gives that in memory
  std::vector<Range> segments;                 // its memory, if it is still loaded
  std::shared_ptr<const std::string> bitcode;  // a copy, which outlives the library
  mutable std::shared_ptr<const void> index;   // of the bitcode, made by the compiler; in withLoadedLibraries only
};
/// Keeps a library's bitcode in memory, but not the library.
using LibraryLease = std::shared_ptr<const LoadedLibrary>;

/// The registered libraries, oldest first.
SHUNT_API std::vector<LibraryLease> kernel_libraries();
/// Calls `use` with the registered libraries; none can be unloaded meanwhile. `use` must not call the dynamic linker: a
/// thread that loads a library may hold its lock and wait for this call.
SHUNT_API void withLoadedLibraries(FunctionRef<void(const std::vector<LibraryLease>&)> use);
/// The number of the registered library that contains an address; 0 if there is none.
SHUNT_API uint64_t libraryNumberOf(const void* address);
/// Increases when a library is registered or removed. An address noted at another generation may be reused by now.
SHUNT_API uint64_t libraryGeneration();

}  // namespace shunt::jit
