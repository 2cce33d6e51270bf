#include "bench/direct/block.h"
#include "bench/direct/direct.h"

namespace bench {
namespace direct {
namespace {

template <class F>
[[gnu::noinline]] Block* map(const float* a, const float* b, int64_t n) {
  Block* const out = make(n, 0);
  float* __restrict const data = out->data;
  for (int64_t i = 0; i < n; ++i) data[i] = F()(a[i], b[i]);
  return out;
}

struct Add { float operator()(float a, float b) const { return a + b; } };
struct Mul { float operator()(float a, float b) const { return a * b; } };
struct Relu { float operator()(float a, float) const { return a < 0 ? 0 : a; } };  // NaN stays

}  // namespace
}  // namespace direct

std::unique_ptr<Call> makeDirectCall(const Case& c) {
  using namespace direct;
  const Binary function = c.op == "add" ? &map<Add> : c.op == "mul" ? &map<Mul> : c.op == "relu" ? &map<Relu> : nullptr;
  if (function == nullptr) throw std::invalid_argument("no direct " + c.op);
  return std::make_unique<DirectCall>(function, c.numel);
}

}  // namespace bench
