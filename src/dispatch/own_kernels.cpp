#include "src/dispatch/own_kernels.h"

#include <dlfcn.h>

namespace shunt::detail {

bool isOfThisLibrary(const TableEntry& entry) {
  const void* code = entry.unboxed != nullptr ? entry.unboxed : reinterpret_cast<const void*>(entry.boxed);
  Dl_info self, other;
  return entry.functor == nullptr && code != nullptr &&
         dladdr(reinterpret_cast<const void*>(&isOfThisLibrary), &self) != 0 && dladdr(code, &other) != 0 &&
         self.dli_fbase == other.dli_fbase;
}

}  // namespace shunt::detail
