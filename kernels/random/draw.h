// Filling a CPU tensor with random numbers, block by block.
//
// Element i in row-major order comes from Philox block i / kPerBlock of those the generator reserved for this operator,
// so the result depends on the seed and on what was drawn before, not on threads, strides or instruction set. How many
// blocks an operator takes depends on its dtype and number of elements. Any thread; the generator is locked once.
#pragma once

#include "generated/native_functions.h"
#include "kernels/common/copy.h"
#include "kernels/common/overlap.h"
#include "kernels/random/draw_table.h"

#include <shunt/core/parallel.h>
#include <shunt/tensor/tensor.h>

namespace shunt::native {

/// The generator given, or the default one. Throws when it belongs to another device.
inline const Generator& cpuGenerator(const std::optional<Generator>& given) {
  if (!given || !given->defined()) return default_generator();
  SHUNT_CHECK(given->device().is_cpu(), "Expected a 'cpu' device type for generator but found '", given->device(), "'");
  return *given;
}

/// Blocks [begin, end) of those that start at `first`, at most kDrawBlocks at a time.
template <class T, class Draw>
void drawBlocks(T* out, uint64_t seed, uint64_t first, int64_t begin, int64_t end, const Draw& draw) {
  philox::Block blocks[kDrawBlocks];
  for (int64_t b = begin; b < end; b += kDrawBlocks) {
    const int64_t count = std::min(kDrawBlocks, end - b);
    drawLoops().philox(blocks, seed, first + static_cast<uint64_t>(b), count);
    draw(blocks, count, out + (b - begin) * Draw::kPerBlock);
  }
}

/// Throws when a generator of another device would fill a tensor on `device`. (On Meta nothing is drawn.)
inline void checkGenerator(Device device, const std::optional<Generator>& given) {
  if (!given || !given->defined() || device.is_meta()) return;
  SHUNT_CHECK(given->device().type() == device.type(), "Expected a '", device,
              "' device type for generator but found '", given->device(), "'");
}

/// What every draw asks of the tensor it fills: a generator of its device, and elements that are places of their own.
inline void checkTarget(const char* op, const TensorImpl& self, const std::optional<Generator>& given) {
  checkGenerator(self.device(), given);
  if (self.numel() != 0) elementwise::assertNoInternalOverlap(op, self, Overlap::kError);
}

/// Draw: `static constexpr int kPerBlock`, and `void operator()(const philox::Block*, int64_t count, T* out) const`
/// that writes kPerBlock values from each of count <= kDrawBlocks blocks.
template <class T, class Draw>
void drawInto(T* out, int64_t numel, const Generator& generator, const Draw& draw) {
  constexpr int64_t kPerBlock = Draw::kPerBlock;
  const int64_t blocks = (numel + kPerBlock - 1) / kPerBlock;
  const auto [seed, first] = generator->reserve(static_cast<uint64_t>(blocks));
  const int64_t whole = numel / kPerBlock;
  parallelFor(0, whole, kDefaultGrain / 4, [&, seed = seed, first = first](int64_t begin, int64_t end) {
    drawBlocks(out + begin * kPerBlock, seed, first, begin, end, draw);
  });
  if (whole == blocks) return;
  T rest[kPerBlock];
  drawBlocks(rest, seed, first, whole, blocks, draw);
  for (int64_t i = whole * kPerBlock; i < numel; ++i) out[i] = rest[i - whole * kPerBlock];
}

/// The same for a tensor of any layout, whose dtype is T.
template <class T, class Draw>
void drawTensor(const Tensor& self, const Generator& generator, const Draw& draw) {
  const TensorImpl& t = *self.unsafeGetTensorImpl();
  if (t.numel() == 0) return;
  if (t.is_contiguous()) return drawInto(reinterpret_cast<T*>(t.data()), t.numel(), generator, draw);
  const Tensor dense(detail::makeCpuTensor(t.sizes(), {}, t.dtype()));
  drawInto(reinterpret_cast<T*>(dense.unsafeGetTensorImpl()->data()), t.numel(), generator, draw);
  copyBelowAutograd(self, dense);
}

/// Two per block: each element has 64 random bits of its own.
template <class T, class F>
struct DrawWide {
  static constexpr int kPerBlock = 2;
  F f;  // T f(uint64_t bits)
  void operator()(const philox::Block* blocks, int64_t count, T* out) const {
    for (int64_t b = 0; b < count; ++b) {
      out[2 * b] = f(philox::low64(blocks[b]));
      out[2 * b + 1] = f(philox::high64(blocks[b]));
    }
  }
};
template <class T, class F>
DrawWide<T, F> drawWide(F f) {
  return {f};
}

/// Four per block: 32 bits each.
template <class T, class F>
struct DrawNarrow {
  static constexpr int kPerBlock = 4;
  F f;  // T f(uint32_t bits)
  void operator()(const philox::Block* blocks, int64_t count, T* out) const {
    const uint32_t* bits = blocks->data();
    for (int64_t i = 0; i < 4 * count; ++i) out[i] = f(bits[i]);
  }
};
template <class T, class F>
DrawNarrow<T, F> drawNarrow(F f) {
  return {f};
}

}  // namespace shunt::native
