// What the tests of vmap and grad share: numbers, the loop that is the oracle, and how results are compared.
#pragma once

#include "tests/support/error_of.h"
#include "tests/support/same_bits.h"

#include <shunt/shunt.h>
#include <shunt/transforms/grad_transforms.h>
#include <shunt/transforms/vmap.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace shunt::test {

using Tensors = std::vector<Tensor>;
using Function = std::function<Tensors(const Tensors&)>;

/// But for strides: those of a batch are no promise.
inline testing::AssertionResult sameValues(const Tensor& actual, const Tensor& expected) {
  return sameBits(expected, actual, kButStrides);
}

/// The largest difference, relative to the larger of 1 and the largest element of `expected`; huge where dtypes or
/// shapes differ, or one has an infinity or NaN where the other has something else.
inline double distance(const Tensor& got, const Tensor& expected) {
  if (got.dtype() != expected.dtype() || got.sizes() != expected.sizes()) return 1e30;
  if (got.numel() == 0 || sameValues(got, expected)) return 0;
  const Tensor g = got.to(kDouble), e = expected.to(kDouble);
  const Tensor same = g.eq(e).logical_or(g.isnan().logical_and(e.isnan()));
  if (!same.logical_or(g.isfinite().logical_and(e.isfinite())).all().item<bool>()) return 1e30;
  const Tensor sizes = where(e.isfinite(), e, zeros_like(e)).abs();
  return where(same, zeros_like(e), g - e).abs().max().item<double>() / std::max(1.0, sizes.max().item<double>());
}

/// What vmap has to give: the function's results for each sample, stacked. `dims` as in VmapOptions.
inline Tensors loop(const Function& f, const Tensors& in, const std::vector<std::optional<int64_t>>& dims) {
  int64_t n = 0;
  for (size_t i = 0; i < in.size(); ++i)
    if (dims[i]) n = in[i].size(*dims[i]);
  std::vector<Tensors> columns;
  for (int64_t s = 0; s < n; ++s) {
    Tensors sample;
    for (size_t i = 0; i < in.size(); ++i) sample.push_back(dims[i] ? in[i].select(*dims[i], s) : in[i]);
    const Tensors out = f(sample);
    columns.resize(out.size());
    for (size_t r = 0; r < out.size(); ++r) columns[r].push_back(out[r]);
  }
  Tensors stacked;
  for (const Tensors& c : columns) stacked.push_back(stack(c));
  return stacked;
}

/// vmap of a function of a list whose tensors have batches of their own: each is an argument.
inline Tensors vmapped(const Function& f, const Tensors& in, const std::vector<std::optional<int64_t>>& dims,
                       VmapOptions options = {}) {
  options.in_dims = dims;
  const auto call = [&]<size_t... I>(std::index_sequence<I...>) {
    return vmap([&](auto... t) -> Tensors { return f(Tensors{t...}); }, options)(in[I]...);
  };
  switch (in.size()) {
    case 1:
      return call(std::make_index_sequence<1>{});
    case 2:
      return call(std::make_index_sequence<2>{});
    case 3:
      return call(std::make_index_sequence<3>{});
    case 4:
      return call(std::make_index_sequence<4>{});
    case 5:
      return call(std::make_index_sequence<5>{});
    default:
      throw Error(detail::str("vmapped: ", in.size(), " inputs"));
  }
}

}  // namespace shunt::test
