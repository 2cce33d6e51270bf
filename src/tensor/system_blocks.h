// Blocks for the free lists, from oneTBB's scalable allocator: unlike malloc's, its blocks cost the same when another
// thread frees them, it keeps pages that are freed and made in turn, and it leaves the program's malloc alone. Any
// thread.
//
// Note [Places in the page]
// A processor tells a load from the stores before it by the low twelve bits of their addresses at first. Where a
// result's are some cache lines above an operand's, each load of a loop seems to need a store of just before and waits:
// with 512-bit vectors, c = a + b of 16 Ki floats (Zen 4) takes 1.67 us where all three have the same place in a page.
// In huge pages it takes 8.8, 4.6 and 2.5 where c is 1, 2 and 4 lines on; in others 2.0, 1.8 and 1.7. With 256-bit
// vectors it makes no difference. oneTBB puts each larger block one line on from the last, to spread them over the
// cache's sets: the worst place for what follows its operands, as results do. So blocks of kFirstPageAligned bytes and
// more begin at a page, as do large blocks. What is smaller lies in steps of its size.
#pragma once

#include "src/tensor/free_lists.h"

namespace shunt::detail {

constexpr size_t kPageAlignment = 4096;
constexpr size_t kFirstPageAligned = 8064;  // about where oneTBB takes blocks from pages of their own
constexpr size_t systemAlignment(size_t nbytes) {
  return nbytes < kFirstPageAligned ? kBlockAlignment : kPageAlignment;
}

/// A block of systemAlignment (in builds with SHUNT_STRESS of kBlockAlignment), or null. `mine` are the calling
/// thread's lists.
void* allocateFromSystem(ThreadLists& mine, size_t nbytes);
/// Any thread's block.
void freeToSystem(ThreadLists& mine, void* block) noexcept;

/// New lists: a fork waits for the threads of those remembered.
void rememberLists(ThreadLists& lists);
/// Lists with no blocks, of a calling thread that ends; deletes them when a fork needs no longer wait for it.
void endWith(ThreadLists& lists);

}  // namespace shunt::detail
