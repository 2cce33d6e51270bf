// fused_cache_probe: runs compiled functions of one region each until it is native, compares every bit with the
// function itself, interpreted, and prints what became of the fused loops. For fused_cache_test; the switches are its.
#include "tests/support/difference.h"

#include <shunt/jit/jit.h>
#include <shunt/shunt.h>

#include <cstdio>
#include <functional>
#include <vector>

namespace {

using namespace shunt;

using Tensors = std::vector<Tensor>;
using Function = std::function<Tensor(const Tensors&)>;

constexpr int kRuns = 600;  // beyond the threshold, so that what isn't loaded is compiled

struct Case {
  Function function;
  Tensors inputs;
};

Tensors inputsOf(ScalarType dtype, int64_t columns) {
  const Tensor x = arange(4 * columns, TensorOptions(kFloat)).reshape({4, columns}).sub(3).div(7);
  return {x.to(dtype), x.mul(x).add(1).to(dtype), arange(columns, TensorOptions(kFloat)).to(dtype)};
}

std::vector<Case> cases() {
  std::vector<Case> out;
  for (const ScalarType dtype : {kFloat, kDouble, kBFloat16}) {
    const Tensors in = inputsOf(dtype, 33);
    out.push_back({[](const Tensors& t) { return (t[0] * t[1] + t[0]).relu().sigmoid(); }, in});
    out.push_back({[](const Tensors& t) { return (t[0] * 2 - t[2]).exp(); }, in});
    out.push_back({[](const Tensors& t) { return (t[0] * 3.25).tanh() / t[1].log(); }, in});
    out.push_back({[](const Tensors& t) { return (t[0] + t[1]).where(t[0].lt(t[1]), t[0] - t[2]); }, in});
    out.push_back({[](const Tensors& t) { return t[1].sqrt().mul(t[0]).gt(t[2]); }, in});
  }
  for (const ScalarType dtype : {kLong, kInt})
    out.push_back({[](const Tensors& t) { return (t[0] * t[1] - t[0]) * 8; }, inputsOf(dtype, 80)});
  out.push_back({[](const Tensors& t) { return (t[0] * t[1] + t[0]).relu().sigmoid(); }, inputsOf(kFloat, 80)});
  return out;
}

}  // namespace

int main() {
  bool good = true, native = true;
  std::vector<decltype(compile(Function()))> kept;  // so that each has code of its own
  for (const Case& c : cases()) {
    jit::set_enabled(false);
    const Tensor expected = c.function(c.inputs);
    jit::set_enabled(true);
    kept.push_back(compile(c.function));
    for (int i = 0; i < kRuns; ++i) good &= test::differenceOf(expected, kept.back()(c.inputs)).empty();
    native &= kept.back().plans().at(0).parts.at(0).code->state == PlanCode::State::kNative;
  }
  const jit::Stats s = jit::stats();
  std::printf("good=%d available=%d thunks=%d compiled=%d loaded=%d rejected=%d failed=%d pairs=%d\n", good,
              s.available, native, static_cast<int>(s.fused.compiled), static_cast<int>(s.fused.loaded),
              static_cast<int>(s.fused.cache_rejected), static_cast<int>(s.fused.failed + s.fused.refused),
              static_cast<int>(s.compiled + s.loaded));
  return good ? 0 : 1;
}
