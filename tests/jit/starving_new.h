// Memory that runs out: this program's operator new, which throws when `left` allocations of the thread are used up.
// For one source of a program.
#pragma once

#include <cstdlib>
#include <new>

namespace {

/// Allocations of the thread that still succeed; below 0: all do.
thread_local constinit int left = -1;

}  // namespace

void* operator new(std::size_t size) {
  if (left == 0) throw std::bad_alloc();
  if (left > 0) --left;
  if (void* p = std::malloc(size != 0 ? size : 1)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
