// Outputs that are larger than the caches.
//
// Note [Streamed outputs]
// Before a store overwrites a line that no cache has, the line is read, for nothing where all of it is overwritten; and
// an output larger than the caches drives everything else out of them. Such an output is computed block by block into a
// buffer that the first cache holds, by the loops that compute all others, and each block is copied with non-temporal
// stores, which do neither. So every functor, dtype and layout has them, with the bits it has anyway. (256 MiB: 0.7 of
// the time; stores straight from the loop gained no more.) Chunks, and who runs them, are as for other outputs. Not
// outputs that are inputs as well: their lines are read anyway. Nor memory without pages yet, as large new outputs
// have: the operating system zeroes each through the caches just before its first store; streaming to it took 1.2 of
// the time. Non-temporal stores are ordered with nothing: a thread that made some ends its chunk with a fence.
#pragma once

#include <shunt/core/macros.h>

#include <cstddef>
#include <cstdint>

namespace shunt::elementwise {

/// A block in the buffer.
inline constexpr int64_t kStreamBlock = 4096;

/// Smaller outputs are not streamed. A constant of the machine.
SHUNT_API int64_t streamedBytes();
/// Whether an output that is no input is worth it: by its size, and because its pages are there.
bool isWorthStreaming(const std::byte* out, int64_t nbytes);
/// memcpy with non-temporal stores for whole lines, the active instruction set's.
void streamCopy(std::byte* to, const std::byte* from, int64_t nbytes);
/// After a chunk's last streamCopy.
void streamFence();

}  // namespace shunt::elementwise
