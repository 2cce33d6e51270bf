#include "bench/thunks/many_pairs.h"

#include <shunt/jit/jit.h>

namespace bench {
namespace {

using namespace shunt;

using Function = Tensor (*)(const Tensor& a, const Tensor& b);

// clang-format off
#define SHUNT_UNARY(X)                                                                                                   \
  X(abs) X(bitwise_not) X(ceil) X(cos) X(erf) X(exp) X(expm1) X(floor) X(isnan) X(log) X(log1p) X(logical_not) X(neg) \
  X(reciprocal) X(relu) X(round) X(rsqrt) X(sigmoid) X(sign) X(silu) X(sin) X(sqrt) X(tanh) X(trunc)
#define SHUNT_BINARY(X)                                                                                        \
  X(add) X(bitwise_and) X(bitwise_or) X(bitwise_xor) X(div) X(eq) X(fmod) X(ge) X(gt) X(le) X(logical_and) \
  X(logical_or) X(logical_xor) X(lt) X(maximum) X(minimum) X(mul) X(ne) X(remainder) X(sub)
#define SHUNT_WITH_SCALAR(X) X(add) X(sub) X(mul) X(div) X(eq) X(ge) X(gt) X(le) X(lt) X(ne) X(fmod) X(remainder)

const Function kFunctions[] = {
#define SHUNT_CALL(name) [](const Tensor& a, const Tensor&) { return shunt::name(a); },
    SHUNT_UNARY(SHUNT_CALL)
#undef SHUNT_CALL
#define SHUNT_CALL(name) [](const Tensor& a, const Tensor& b) { return shunt::name(a, b); },
    SHUNT_BINARY(SHUNT_CALL)
#undef SHUNT_CALL
#define SHUNT_CALL(name) [](const Tensor& a, const Tensor&) { return shunt::name(a, 2); },
    SHUNT_WITH_SCALAR(SHUNT_CALL)
#undef SHUNT_CALL
#define SHUNT_CALL(name) [](const Tensor& a, const Tensor& b) { Tensor out = a; return shunt::name##_(out, b); },
    SHUNT_CALL(add) SHUNT_CALL(sub) SHUNT_CALL(mul) SHUNT_CALL(div) SHUNT_CALL(fmod) SHUNT_CALL(remainder)
#undef SHUNT_CALL
#define SHUNT_CALL(name) [](const Tensor& a, const Tensor&) { Tensor out = a; return shunt::name##_(out); },
    SHUNT_CALL(abs) SHUNT_CALL(neg) SHUNT_CALL(relu) SHUNT_CALL(sign) SHUNT_CALL(trunc) SHUNT_CALL(floor) SHUNT_CALL(ceil)
#undef SHUNT_CALL
};
// clang-format on

std::vector<Tensor> operands() {
  std::vector<Tensor> out;
  for (const ScalarType dtype : {kFloat, kDouble, kLong, kInt, kShort, kChar, kByte, kBFloat16, kHalf}) {
    const Tensor x = arange(1, 17, TensorOptions(kFloat)).reshape({4, 4}).to(dtype);
    for (const Tensor& t : {x, x.t(), x.slice(0, 0, 1).slice(1, 0, 1)}) out.push_back(t);
  }
  return out;
}

}  // namespace

ManyPairs::ManyPairs(size_t count) {
  constexpr int kOfOneOperator = 16;
  const bool was_enabled = jit::enabled();
  jit::set_enabled(false);
  const std::vector<Tensor> second = operands();
  for (const Function f : kFunctions) {
    int of_this = 0;
    const std::vector<Tensor> first = operands();  // some functions write to it
    for (size_t i = 0; i < first.size(); ++i) {
      if (of_this == kOfOneOperator || calls_.size() == count) break;
      try {
        f(first[i], second[i]);
      } catch (const Error&) {
        continue;  // not for this dtype
      }
      calls_.emplace_back([f, a = first[i], b = second[i]] { f(a, b); });
      ++of_this;
    }
  }
  jit::set_enabled(was_enabled);
}

size_t compiledPairs() {
  size_t n = 0;
  for (const jit::PairStats& p : jit::stats().pairs) n += p.state == jit::PairState::kCompiled;
  return n;
}

}  // namespace bench
