// The result of a direct function: a struct with what a caller needs of a tensor, and its data.
#pragma once

#include "bench/calls/cases.h"

#include <cstdint>
#include <cstdlib>
#include <new>
#include <random>
#include <stdexcept>
#include <vector>

namespace bench::direct {

struct Block {
  float* data;
  void* allocation;
  int64_t size, stride, numel;
  int32_t dtype, device;
};

/// `alignment` 0: as malloc has it. A hand-vectorised loop wants whole cache lines, and aligned_alloc is slower than this.
inline Block* make(int64_t numel, uintptr_t alignment) {
  auto* const block = static_cast<Block*>(std::malloc(sizeof(Block)));
  void* const allocation = std::malloc(static_cast<size_t>(numel) * sizeof(float) + alignment);
  if (block == nullptr || allocation == nullptr) throw std::bad_alloc();
  const uintptr_t place = reinterpret_cast<uintptr_t>(allocation);
  const uintptr_t aligned = alignment == 0 ? place : (place + alignment - 1) & ~(alignment - 1);
  *block = {reinterpret_cast<float*>(aligned), allocation, numel, 1, numel, 6, 0};
  return block;
}

inline void destroy(Block* block) {
  std::free(block->allocation);
  std::free(block);
}

using Binary = Block* (*)(const float* a, const float* b, int64_t n);

class DirectCall : public Call {
 public:
  DirectCall(Binary function, int64_t numel)
      : function_(function), numel_(numel), operands_(static_cast<size_t>(2 * numel) + 16) {
    std::minstd_rand random(1);
    std::normal_distribution<float> normal;
    for (float& x : operands_) x = normal(random);
    const uintptr_t place = reinterpret_cast<uintptr_t>(operands_.data());
    a_ = reinterpret_cast<const float*>((place + 63) & ~uintptr_t{63});
  }
  void run() override {
    Block* const block = function_(a_, a_ + numel_, numel_);
    asm volatile("" : : "r"(block) : "memory");  // or both allocations could go
    destroy(block);
  }

 private:
  Binary function_;
  int64_t numel_;
  std::vector<float> operands_;
  const float* a_;
};

}  // namespace bench::direct
