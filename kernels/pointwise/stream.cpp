#include "kernels/pointwise/stream.h"

#include <shunt/core/isa.h>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace shunt::elementwise {

using StreamCopyFn = void (*)(std::byte* to, const std::byte* from, int64_t nbytes);
#define SHUNT_DECLARE(isa)               \
  namespace isa {                        \
  extern const StreamCopyFn kStreamCopy; \
  }
SHUNT_DECLARE(baseline)
SHUNT_DECLARE(v3)
SHUNT_DECLARE(v4)
#undef SHUNT_DECLARE

// One core's share of the last cache. A virtual machine may be told of the whole machine's, which it shares with
// others: at most what gains there, too (below, plain stores to a cache that nobody else uses may be the faster ones).
int64_t streamedBytes() {
  static const int64_t bytes = [] {
    constexpr int64_t kLeast = int64_t{4} << 20, kMost = int64_t{32} << 20;
    const int64_t cache = sysconf(_SC_LEVEL3_CACHE_SIZE), cores = std::max(1L, sysconf(_SC_NPROCESSORS_ONLN));
    return std::clamp(cache / cores, kLeast, kMost);
  }();
  return bytes;
}

// By three of its pages: the call for all would take longer, and allocators give back whole ends.
bool isWorthStreaming(const std::byte* out, int64_t nbytes) {
  if (nbytes < streamedBytes()) return false;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  for (const std::byte* p : {out, out + nbytes / 2, out + nbytes - 1}) {
    unsigned char resident = 0;
    auto* start = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(p) & ~(page - 1));
    if (mincore(start, page, &resident) != 0 || (resident & 1) == 0) return false;
  }
  return true;
}

void streamCopy(std::byte* to, const std::byte* from, int64_t nbytes) {
#define SHUNT_TABLE(isa) &isa::kStreamCopy
  static constexpr const StreamCopyFn* kCopies[kNumIsas] = SHUNT_PER_ISA(SHUNT_TABLE);
#undef SHUNT_TABLE
  (*kCopies[static_cast<int>(::shunt::detail::activeIsa())])(to, from, nbytes);
}

void streamFence() { __builtin_ia32_sfence(); }

}  // namespace shunt::elementwise
