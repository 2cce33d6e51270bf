// ScratchMemory: memory for containers that live on one stack frame: a fixed number of bytes first, the heap after
// that.
//
// Owned by the frame; one thread. What came from the heap is freed when its container gives it back, what came from the
// bytes when the frame ends.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <new>

namespace shunt::autograd {

template <size_t N>
class ScratchMemory final : public std::pmr::memory_resource {
 public:
  ScratchMemory() noexcept {}

 private:
  void* do_allocate(size_t nbytes, size_t alignment) override {
    const size_t start = (used_ + alignment - 1) & ~(alignment - 1);
    if (alignment > alignof(std::max_align_t) || start + nbytes > N) [[unlikely]]
      return std::pmr::new_delete_resource()->allocate(nbytes, alignment);
    used_ = start + nbytes;
    return bytes_ + start;
  }
  void do_deallocate(void* p, size_t nbytes, size_t alignment) override {
    if (p < bytes_ || p >= bytes_ + N) std::pmr::new_delete_resource()->deallocate(p, nbytes, alignment);
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

  size_t used_ = 0;
  alignas(std::max_align_t) std::byte bytes_[N];  // not initialised
};

}  // namespace shunt::autograd
