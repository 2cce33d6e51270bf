// Per-sample gradients of the digits network: vmap of grad equals a backward for each sample, with and without
// autocast.
#include "examples/digits/model.h"
#include "tests/vmap/util.h"

#include <shunt/transforms/autocast.h>

namespace shunt::test {
namespace {

constexpr int64_t kBatch = 32;

Tensor loss(const Tensors& w, const Tensor& x, const Tensor& y) {
  return cross_entropy_loss(linear(relu(linear(x, w[0], w[1])), w[2], w[3]), y);
}

struct DigitsTest : testing::Test {
  const digits::Net net{3};
  const Tensor x = randn({kBatch, 64}), y = randint(10, {kBatch}, TensorOptions(kLong));

  Tensors detached() const {
    Tensors all;
    for (const Tensor& p : net.parameters()) all.push_back(p.detach());
    return all;
  }
  /// The oracle: forward and backward for each sample, stacked.
  Tensors looped() const {
    std::vector<Tensors> columns(4);
    for (int64_t i = 0; i < kBatch; ++i) {
      const Tensors p = net.parameters();
      const Tensors g = autograd::grad({loss(p, x[i], y[i])}, p);
      for (size_t k = 0; k < 4; ++k) columns[k].push_back(g[k]);
    }
    Tensors all;
    for (const Tensors& c : columns) all.push_back(stack(c));
    return all;
  }
};

TEST_F(DigitsTest, GradientsOfSamplesEqualTheLoop) {
  const auto per_sample = vmap(grad(loss), {.in_dims = {std::nullopt, 0, 0}});
  const VmapCounters before = vmap_counters();
  for (int round = 0; round < 6; ++round) {  // interpreted at first, compiled where there is a compiler
    const Tensors got = per_sample(detached(), x, y), expected = looped();
    ASSERT_EQ(got.size(), 4u);
    for (size_t k = 0; k < 4; ++k) EXPECT_LT(distance(got[k], expected[k]), 2e-6) << k;
  }
  EXPECT_EQ(vmap_counters().fallbacks, before.fallbacks);
}

TEST_F(DigitsTest, UnderAutocastToo) {
  const AutocastGuard autocast(kCPU, kBFloat16);
  const Tensors got = vmap(grad(loss), {.in_dims = {std::nullopt, 0, 0}})(detached(), x, y), expected = looped();
  for (size_t k = 0; k < 4; ++k) EXPECT_LT(distance(got[k], expected[k]), 2e-2) << k;
}

TEST_F(DigitsTest, InChunks) {
  const auto whole = vmap(grad(loss), {.in_dims = {std::nullopt, 0, 0}})(detached(), x, y);
  const auto chunks = vmap(grad(loss), {.in_dims = {std::nullopt, 0, 0}, .chunk_size = 5})(detached(), x, y);
  for (size_t k = 0; k < 4; ++k) EXPECT_LT(distance(chunks[k], whole[k]), 2e-6) << k;
}

}  // namespace
}  // namespace shunt::test
