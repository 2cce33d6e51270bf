// Blocks for the free lists, from oneTBB's scalable allocator: unlike malloc's, its blocks cost the same when another
// thread frees them, it keeps pages that are freed and made in turn, and it leaves the program's malloc alone. Any
// thread.
#pragma once

#include "src/tensor/free_lists.h"

namespace shunt::detail {

/// A block of kBlockAlignment, or null. `mine` are the calling thread's lists.
void* allocateFromSystem(ThreadLists& mine, size_t nbytes);
/// Any thread's block.
void freeToSystem(ThreadLists& mine, void* block) noexcept;

/// New lists, and lists about to be deleted: a fork waits for the threads of those remembered.
void rememberLists(ThreadLists& lists);
void forgetLists(ThreadLists& lists);

}  // namespace shunt::detail
