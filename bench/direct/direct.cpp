#include "bench/direct/direct.h"

#include "bench/direct/loops.h"

#include <cstdlib>
#include <new>
#include <random>
#include <stdexcept>
#include <vector>

namespace bench {
namespace direct {
namespace {

constexpr uintptr_t kCacheLine = 64;

#define BENCH_LOOPS(isa) &isa::kLoops
const IsaLoops* const kLoopsOfIsa[shunt::kNumIsas] = SHUNT_PER_ISA(BENCH_LOOPS);
#undef BENCH_LOOPS

const IsaLoops& loopsOf(shunt::Isa isa) { return *kLoopsOfIsa[static_cast<int>(isa)]; }

Loop pick(const Loops& loops, const std::string& op) {
  if (op == "add") return loops.add;
  if (op == "mul") return loops.mul;
  if (op == "relu") return loops.relu;
  throw std::invalid_argument("no direct loop for " + op);
}

float* alignUp(void* p, uintptr_t alignment) {
  return reinterpret_cast<float*>((reinterpret_cast<uintptr_t>(p) + alignment - 1) & ~(alignment - 1));
}

/// What a caller needs of a tensor, and its data.
struct Block {
  float* data;
  void* allocation;
  int64_t size, stride, numel;
  int32_t dtype, device;
};

// Rounds up by hand, since aligned_alloc is slower. `alignment` 1: as malloc has it.
Block* makeBlock(int64_t numel, uintptr_t alignment) {
  auto* const block = static_cast<Block*>(std::malloc(sizeof(Block)));
  void* const allocation = std::malloc(static_cast<size_t>(numel) * sizeof(float) + alignment - 1);
  if (block == nullptr || allocation == nullptr) throw std::bad_alloc();
  *block = {alignUp(allocation, alignment), allocation, numel, 1, numel, 6, 0};
  return block;
}

void freeBlock(Block* block) {
  std::free(block->allocation);
  std::free(block);
}

class DirectCall : public Call {
 public:
  DirectCall(Loop loop, int64_t numel, uintptr_t alignment)
      : loop_(loop),
        numel_(numel),
        alignment_(alignment),
        operands_(static_cast<size_t>(2 * numel) + kCacheLine / sizeof(float)) {
    std::minstd_rand random(1);
    std::normal_distribution<float> normal;
    for (float& x : operands_) x = normal(random);
    a_ = alignUp(operands_.data(), kCacheLine);
  }
  void run() override {
    Block* const block = makeBlock(numel_, alignment_);
    loop_(block->data, a_, a_ + numel_, numel_);
    asm volatile("" : : "r"(block) : "memory");  // or the struct could go
    freeBlock(block);
  }

 private:
  Loop loop_;
  int64_t numel_;
  uintptr_t alignment_;
  std::vector<float> operands_;
  const float* a_;
};

}  // namespace
}  // namespace direct

std::unique_ptr<Call> makeDirectCall(const Case& c) {
  const direct::Loops& loops = direct::loopsOf(shunt::detail::activeIsa()).plain;
  return std::make_unique<direct::DirectCall>(direct::pick(loops, c.op), c.numel, 1);
}

std::unique_ptr<Call> makeByHandCall(const Case& c, shunt::Isa isa) {
  if (isa > shunt::detail::activeIsa()) return nullptr;
  const direct::Loop loop = direct::pick(direct::loopsOf(isa).by_hand, c.op);
  return loop == nullptr ? nullptr : std::make_unique<direct::DirectCall>(loop, c.numel, direct::kCacheLine);
}

}  // namespace bench
