// Blocks of more than 1 MiB: kept for a while when they are freed, and given out again. Any thread.
//
// Note [Large blocks]
// malloc gives large memory back to the system when it is freed and asks for it anew, and the system zeroes each new
// page at its first use: two thirds of a step with tensors of 16 MiB (80 ms, now 28). So freed blocks are kept.
//   Sizes: eight classes a doubling, so that the size that was asked for says the size of the block; what a block has
//     beyond that, at most an eighth, gets no pages until a larger tensor uses it. A block serves its own class only.
//   Bound: what lives and what is kept is together never more than what lived at once lately (in the last one to two
//     times kIdleSeconds) and a quarter, or 64 MiB if that is more. So a program takes little more than it once needed,
//     and one that works in phases of different sizes can keep the blocks of another phase. At most kMostKept blocks.
//   Idle: a block that nobody wanted for kIdleSeconds goes back to malloc; a page fault saved later than that is saved
//     too rarely to count. Each large allocation and release looks for such blocks, so does each small one that goes
//     past the free lists, and so do the samples of calls that are taken anyway (src/tiering), one in a hundred to
//     some thousands (of calls in thunks none under SHUNT_JIT_SYNC and SHUNT_JIT_KEEP): there is no thread for it, so a
//     process that does nothing at all keeps what it has.
//   Which: the youngest of a class is given out, the oldest of all go first.
// One lock guards all of it; nothing is returned to malloc under the lock. What a call returns costs it, what it takes
// saves it, more than the lock does. A fork holds the lock, so a child has the same blocks. When memory is short, all
// kept blocks go back before an allocation fails. Builds with SHUNT_STRESS keep nothing: the sanitizers see each use of
// freed memory.
#pragma once

#include <shunt/core/macros.h>

#include <bit>
#include <cstddef>
#include <cstdint>

namespace shunt::detail {

/// The size of the block that `nbytes`, more than kListLimit, are given.
constexpr size_t largeBlockBytes(size_t nbytes) {
  const size_t step = size_t{1} << (std::bit_width(nbytes - 1) - 4);  // 2^k < nbytes <= 2^(k+1): 2^(k-3)
  return (nbytes + step - 1) / step * step;
}
/// A block of at least `nbytes`, aligned to kPageAlignment (system_blocks.h); null when there is no memory.
void* allocateLarge(size_t nbytes);
/// `nbytes` as given to allocateLarge.
void freeLarge(void* block, size_t nbytes) noexcept;
/// Returns blocks that nobody wanted for long. Cheap when nothing is kept.
SHUNT_API void releaseIdleLargeBlocks() noexcept;

/// All kept blocks go back to malloc. For tests, and before a long rest.
SHUNT_API void releaseLargeBlocks() noexcept;
struct LargeBlockCounters {
  uint64_t reused, made;  // allocations by a kept block, and by malloc
  size_t live_bytes, kept_bytes;
  size_t kept_blocks;
  uint64_t trims;  // searches for blocks that are idle or beyond the bound
};
SHUNT_API LargeBlockCounters largeBlockCounters();
/// Of idleness.
SHUNT_API extern const int64_t kIdleSeconds;

}  // namespace shunt::detail
