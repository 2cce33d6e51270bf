#include "src/dispatch/own_kernels.h"

#include <link.h>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace shunt::detail {
namespace {

struct Range {
  uintptr_t begin = std::numeric_limits<uintptr_t>::max(), end = 0;
  bool holds(uintptr_t address) const { return address >= begin && address < end; }
};

Range rangeOf(const dl_phdr_info& object) {
  Range all;
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object.dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    const uintptr_t begin = object.dlpi_addr + segment.p_vaddr;
    all.begin = std::min(all.begin, begin);
    all.end = std::max(all.end, begin + segment.p_memsz);
  }
  return all;
}

/// Where the object is loaded that this code is in.
Range rangeOfLibrary() {
  Range found;
  dl_iterate_phdr(
      [](dl_phdr_info* object, size_t, void* out) {
        const Range range = rangeOf(*object);
        if (!range.holds(reinterpret_cast<uintptr_t>(&rangeOfLibrary))) return 0;
        *static_cast<Range*>(out) = range;
        return 1;
      },
      &found);
  return found;
}

}  // namespace

bool isOfThisLibrary(const TableEntry& entry) {
  static const Range library = rangeOfLibrary();
  const void* code = entry.unboxed != nullptr ? entry.unboxed : reinterpret_cast<const void*>(entry.boxed);
  return entry.functor == nullptr && library.holds(reinterpret_cast<uintptr_t>(code));
}

bool isOfProgram(const TableEntry& entry) {
  switch (entry.reason) {
    case EntryReason::kMissing:
    case EntryReason::kFallthrough:
    case EntryReason::kAmbiguousAutogradOther:
      return false;
    default:
      return !isOfThisLibrary(entry);
  }
}

bool mayRunProgramKernel(const Operator& op, BackendComponent backend) {
  const CallFrame frame(op);
  const OpState& state = frame.state(op);
  const DispatchKeySet plain = DispatchKeySet::of(Functionality::Dense) | DispatchKeySet::of(backend);
  const auto isAt = [&](DispatchKeySet keys) { return isOfProgram(state.lookup(keys & state.maskFor(keys))); };
  return isAt(plain) || std::ranges::any_of(kAboveBackends, [&](DispatchKey key) {
           return isAt(plain | DispatchKeySet(key).functionalities());
         });
}

}  // namespace shunt::detail
