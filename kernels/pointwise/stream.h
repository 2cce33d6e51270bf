// Outputs that are larger than the caches.
//
// Note [Streamed outputs]
// Before a store overwrites a line that no cache has, the line is read, for nothing where all of it is overwritten; and
// an output larger than the caches drives everything else out of them. Such an output is computed block by block into a
// buffer that the first cache holds, by the loops that compute all others, and each block is copied with non-temporal
// stores, which do neither. So every functor, dtype and layout has them, with the bits it has anyway. Blocks are of a
// few lines and end where lines do: then a core reads the next ones' inputs while their stores drain. (256 MiB, against
// plain stores: stores straight from the loop took 0.7 of the time. So did blocks of 4 KiB on an Intel CPU; on Zen 4
// those took 0.9 to 1.05, of 1 KiB 0.85, of 512 bytes 0.79 and of 256 bytes 0.77.) Chunks, and who runs them, are as
// for other outputs. Not outputs that are inputs as well: their lines are read anyway. Nor memory without pages yet, as
// large new outputs have: the operating system zeroes each through the caches just before its first store; streaming to
// it took 1.2 of the time. Non-temporal stores are ordered with nothing: a thread that made some ends its chunk with a
// fence.
#pragma once

#include <shunt/core/macros.h>

#include <cstddef>
#include <cstdint>

namespace shunt::elementwise {

/// A block in the buffer, and what a non-temporal store wants to fill.
inline constexpr int64_t kStreamBlock = 256, kStreamLine = 64;

/// Smaller outputs are not streamed. A constant of the machine.
SHUNT_API int64_t streamedBytes();
/// Whether an output that is no input is worth it: by its size, and because its pages are there.
bool isWorthStreaming(const std::byte* out, int64_t nbytes);
/// memcpy with non-temporal stores for whole lines, the active instruction set's.
void streamCopy(std::byte* to, const std::byte* from, int64_t nbytes);
/// After a chunk's last streamCopy.
void streamFence();

}  // namespace shunt::elementwise
