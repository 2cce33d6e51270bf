#include "examples/compile/modes.h"

#include "examples/modes/counting.h"
#include "examples/modes/large_products.h"

#include <iostream>

namespace examples {
namespace {

using shunt::DispatchModeGuard;
using shunt::Tensor;

Tensor layer(const Tensor& x, const Tensor& w) { return (x.mm(w) * 2).relu(); }

bool same(const Tensor& a, const Tensor& b) { return a.eq(b).all().item<bool>(); }

/// A mode sees every operator, so under it calls run the function; without it they run the graph.
void around(const Tensor& x, const Tensor& w) {
  const auto fast = shunt::compile(layer, {.record_after = 1, .name = "around"});
  for (int i = 0; i < 3; ++i) fast(x, w);
  CountingMode mode;
  {
    const DispatchModeGuard guard(mode);
    fast(x, w);
  }
  fast(x, w);
  mode.print(std::cout);
  std::cout << fast.explain();
}

/// A function that enters a mode is the mode's program: each call runs it, and the mode sees what it calls.
void inside(const Tensor& x, const Tensor& w) {
  LargeProductsMode mode(16);
  const auto fast = shunt::compile(
      [&](const Tensor& a, const Tensor& b) {
        const DispatchModeGuard guard(mode);
        return layer(a, b);
      },
      {.record_after = 1, .name = "inside"});
  bool all = true;
  for (int i = 0; i < 4; ++i) all &= same(fast(x, w), layer(x, w));
  std::cout << mode.replaced << " products replaced, " << (all ? "the same values" : "other values") << '\n'
            << fast.explain();
}

/// compile() itself calls nothing: where it is called doesn't matter, only where the function is.
void made(const Tensor& x, const Tensor& w) {
  CountingMode mode;
  const auto fast = [&] {
    const DispatchModeGuard guard(mode);
    return shunt::compile(layer, {.record_after = 1, .name = "made under a mode"});
  }();
  for (int i = 0; i < 4; ++i) fast(x, w);
  mode.print(std::cout);  // nothing
  std::cout << fast.counts().hits << " of 4 calls ran the graph\n";
}

}  // namespace

void modes() {
  // Small whole numbers, whose products and sums are exact in any order.
  const Tensor x = shunt::arange(32, shunt::kFloat).view({4, 8}), w = shunt::arange(24, shunt::kFloat).view({8, 3});
  around(x, w);
  inside(x, w);
  made(x, w);
}

}  // namespace examples
