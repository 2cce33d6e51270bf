// Random chains of operators and host steps as host plans, against the operators called one by one: bits of outputs and
// of all memory.
#include "tests/compile/host_chain.h"
#include "tests/compile/plan_parts.h"

#include <cstdio>
#include <cstdlib>
#include <random>

namespace shunt::host {
namespace {

class Drawn {
 public:
  explicit Drawn(unsigned seed) : random_(seed) {}

  void build() {
    const std::vector<int64_t> sizes = sizesOf();
    for (int i = 0, n = 2 + draw(3); i < n; ++i) addInput(sizes);
    for (int i = 0, n = 3 + draw(18); i < n; ++i) addNode();
    for (int i = 0, n = 1 + draw(4); i < n; ++i) {
      const size_t v = any();
      if (draw(2) != 0)
        chain.output(v);
      else
        chain.outputInto(v);
    }
  }

  Chain chain;

 private:
  int draw(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  size_t any() { return static_cast<size_t>(draw(static_cast<int>(chain.size()))); }

  std::vector<int64_t> sizesOf() {
    static const std::vector<int64_t> all[] = {{}, {1}, {0}, {17}, {300}, {4, 5}, {3, 0}, {2, 3, 4}, {64, 33}};
    return all[draw(9)];
  }
  void addInput(const std::vector<int64_t>& sizes) {
    HostSpec spec{.sizes = sizes};
    const size_t dim = sizes.size();
    const int kind = draw(5);
    if (kind == 1 && dim == 2) spec.strides = {1, sizes[0]};          // transposed
    if (kind == 2 && dim == 1) spec.strides = {3};                    // gaps
    if (kind == 3 && dim == 2) spec.strides = {2 * sizes[1] + 1, 2};  // both
    if (kind == 4) spec.offset = draw(4);
    base_.push_back(chain.size());
    const size_t shift = static_cast<size_t>(draw(4)) * 4;
    if (chain.size() != 0 && draw(5) == 0) {
      // Behind the first one, in its storage.
      spec.offset = static_cast<int64_t>(Chain::bytesOf(chain.spec(0)) / 4) + draw(3);
      chain.inputIn(0, spec);
    } else {
      chain.input(spec, shift);
    }
  }
  /// Another value of the same sizes; the value itself where there is none.
  size_t like(size_t v) {
    const HostSpec wanted = chain.spec(v);
    for (int i = 0; i < 12; ++i)
      if (const size_t other = any(); chain.spec(other).sizes == wanted.sizes && chain.spec(other).dtype == kFloat)
        return other;
    return v;
  }

  void addNode() {
    const size_t x = any();
    if (chain.spec(x).dtype != kFloat) return;
    const size_t y = like(x);
    const IValue one(int64_t{1});
    const size_t before = chain.size();
    bool is_view = false;
    switch (draw(16)) {
      case 0:
        chain.call("aten::relu", {x});
        break;
      case 1:
        chain.call("aten::sigmoid", {x});
        break;
      case 2:
        chain.call("aten::mul.Tensor", {x, y});
        break;
      case 3:
        chain.call("aten::add.Tensor", {x, y, IValue(0.5)});
        break;
      case 4:
        chain.call("aten::mul.Scalar", {x, IValue(1.25)});
        break;
      case 5:
        chain.call("aten::maximum", {x, y});
        break;
      case 6:
        chain.call("aten::mul_.Scalar", {x, IValue(0.75)});
        is_view = true;
        break;
      case 7:
        if (base_[x] != base_[y]) chain.call("aten::add_.Tensor", {x, y, one});
        is_view = true;
        break;
      case 8:
        chain.hostStep(x);
        break;
      case 9:
        chain.hostStep(x, true);
        break;
      case 10:
        if (base_[x] != base_[y]) chain.hostAdd(x, y);
        break;
      case 11:
        if (chain.spec(x).sizes.size() == 2) chain.call("aten::t", {x});
        is_view = true;
        break;
      case 12:
        if (chain.spec(x).sizes.size() == 2)
          chain.call("aten::sum.dim_IntList", {x, IValue(std::vector<int64_t>{1}), IValue(true), IValue()});
        break;
      case 13:
        chain.call("aten::exp", {chain.call("aten::neg", {chain.call("aten::abs", {x})})});
        break;
      case 14:
        chain.call("aten::clone", {x, IValue()});
        break;
      default:
        chain.call("aten::sub.Tensor", {x, y, one});
        break;
    }
    for (size_t v = before; v < chain.size(); ++v) base_.push_back(is_view ? base_[x] : v);
  }
  std::mt19937 random_;
  std::vector<size_t> base_;  // by value: the one whose memory it shows
};

TEST(HostPlanChains, GiveTheBitsOfOperatorsCalledOneByOne) {
  // Compiling takes most of the time where the compiler is waited for.
  const bool compiles = std::getenv("SHUNT_JIT_SYNC") != nullptr;
  size_t regions = 0, in_regions = 0, host_steps = 0, buffers = 0, built = 0, native = 0;
  for (unsigned seed = 1; seed <= (compiles ? 80u : 400u); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Drawn drawn(seed);
    drawn.build();
    const HostPlan plan = drawn.chain.builder.compile({.native_after = 1});
    for (unsigned i = 0; i < 4; ++i) drawn.chain.expectSame(plan, seed + i);
    if (testing::Test::HasFailure()) break;
    const HostPlan::Counts n = plan.counts();
    regions += n.regions;
    in_regions += n.in_regions;
    host_steps += n.host_steps;
    buffers += n.buffers;
    native += test::isNative(plan) ? 1 : 0;
    ++built;
  }
  printf("%zu plans, %zu with native code: %zu regions of %zu operators, %zu host steps, %zu results without tensors\n",
         built, native, regions, in_regions, host_steps, buffers);
  EXPECT_GT(regions, built / 2);
  EXPECT_GT(host_steps, built);
  EXPECT_GT(buffers, built / 20);
  if (compiles) EXPECT_GT(native, built / 4);
}

}  // namespace
}  // namespace shunt::host
