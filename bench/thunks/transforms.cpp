// vmap and grad: gradients for each sample of the digits network at once against one by one, and what vmap adds to a
// pointwise operator.
#include "bench/thunks/interleave.h"
#include "bench/thunks/parts.h"
#include "bench/thunks/row.h"
#include "examples/digits/model.h"

#include <shunt/shunt.h>

namespace bench {
namespace {

using namespace shunt;
using Parameters = std::vector<Tensor>;

Tensor lossOf(const Parameters& p, const Tensor& x, const Tensor& y) {
  return cross_entropy_loss(linear(relu(linear(x, p[0], p[1])), p[2], p[3]), y);
}

template <class F>
int64_t timed(int64_t calls, F&& f) {
  const int64_t start = threadNanoseconds();
  for (int64_t i = 0; i < calls; ++i) f();
  return threadNanoseconds() - start;
}

void perSampleGradients() {
  const char* what = "gradients of 32 samples of the digits network / one by one";
  if (!wanted(what)) return;
  constexpr int64_t kBatch = 32;
  constexpr double kMost = 0.2;
  constexpr int kRounds = 61, kWarmUp = 600;
  const digits::Net net(3);
  Parameters detached;
  for (const Tensor& p : net.parameters()) detached.push_back(p.detach());
  const Tensor x = randn({kBatch, 64}), y = randint(10, {kBatch}, TensorOptions(kLong));
  const auto together = [&, each = vmap(grad(lossOf), {.in_dims = {std::nullopt, 0, 0}})] { each(detached, x, y); };
  const auto one_by_one = [&, p = net.parameters()] {
    for (int64_t i = 0; i < kBatch; ++i) autograd::grad({lossOf(p, x[i], y[i])}, p);
  };
  timed(kWarmUp, together);
  timed(kWarmUp / 10, one_by_one);
  shunt::jit::wait_idle();
  printRow([&]() -> Row {
    const Comparison c = alternate(
        kRounds, 8, 2, [&](int64_t n) { return timed(n, together); }, [&](int64_t n) { return timed(n, one_by_one); });
    return {what, c.ratio, kMost, timesOf(c)};
  });
}

void pointwiseInVmap() {
  const char* what = "add of 16 x 16 floats in vmap, more ns than of the batch";
  if (!wanted(what)) return;
  constexpr double kMostNanoseconds = 250;
  constexpr int64_t kCalls = 2000;
  constexpr int kRounds = 101;
  const NoGradGuard no_grad;
  const Tensor a = randn({16, 16}), b = randn({16, 16});
  const auto inside = [&, f = vmap([](const Tensor& s, const Tensor& t) { return add(s, t); })] { f(a, b); };
  const auto batched = [&] { add(a, b); };
  timed(kCalls, inside);
  timed(kCalls, batched);
  shunt::jit::wait_idle();
  printRow([&]() -> Row {
    const Comparison c = alternate(
        kRounds, kCalls, kCalls, [&](int64_t n) { return timed(n, inside); },
        [&](int64_t n) { return timed(n, batched); });
    return {what, c.a - c.b, kMostNanoseconds, timesOf(c)};
  });
}

}  // namespace

void transformBars() {
  perSampleGradients();
  pointwiseInVmap();
}

}  // namespace bench
