// How the samples of a convolution are shared among threads: parts that depend on the shape only. Any thread.
#pragma once

#include "kernels/nn/convolution.h"

#include <shunt/core/parallel.h>

#include <algorithm>
#include <memory>

namespace shunt::nn {

/// Multiplications that are worth a thread, and the most parts, each of which has a copy of the weights' gradient.
inline constexpr int64_t kPartCost = int64_t{1} << 21;
inline constexpr int64_t kMaxParts = 16;

/// Samples of a part; the last one may have fewer.
inline int64_t samplesOfPart(const ConvShape& shape) {
  const int64_t least = (shape.samples + kMaxParts - 1) / kMaxParts;
  return std::max(least, std::min(shape.samples, kPartCost / std::max<int64_t>(shape.cost(), 1) + 1));
}

/// f(shape of the part, its first sample) for each part.
template <class F>
void forEachPart(const ConvShape& shape, const F& f) {
  parallelFor(0, shape.samples, samplesOfPart(shape), [&](int64_t begin, int64_t end) {
    ConvShape part = shape;
    part.samples = end - begin;
    f(part, begin);
  });
}

/// weight = the sum over parts of what f(shape of the part, its first sample, weights) writes, in the parts' order.
template <class T, class F>
void sumOverParts(const ConvShape& shape, T* weight, const F& f) {
  const int64_t step = samplesOfPart(shape), parts = (shape.samples + step - 1) / step, n = shape.weightSize();
  if (parts == 1) return f(shape, int64_t{0}, weight);
  const auto sums = std::make_unique_for_overwrite<T[]>(static_cast<size_t>((parts - 1) * n));
  forEachPart(shape, [&](const ConvShape& part, int64_t first) {
    f(part, first, first == 0 ? weight : sums.get() + (first / step - 1) * n);
  });
  for (int64_t p = 0; p < parts - 1; ++p)
    for (int64_t i = 0; i < n; ++i) weight[i] += sums[static_cast<size_t>(p * n + i)];
}

}  // namespace shunt::nn
