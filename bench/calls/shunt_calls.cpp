#include "bench/calls/case_list.h"
#include "bench/calls/cases.h"

#include <shunt/shunt.h>

#include <optional>
#include <stdexcept>

namespace bench {
namespace {

namespace lib = shunt;
using lib::Tensor;

template <class F>
class ShuntCall : public Call {
 public:
  ShuntCall(const Case& c, F f) : f_(f) {
    const int64_t side = sideOf(c.numel);
    const bool matrix = c.op == "mm" || c.op == "linear";
    auto operand = [&] { return matrix ? lib::randn({side, side}) : lib::randn({c.numel}); };
    a = operand();
    b = operand();
    w = lib::randn({side});
    if (c.mode == Mode::kNoGrad) {
      no_grad_.emplace();
    } else if (c.mode == Mode::kGrad) {
      // Not a leaf: the common case inside a model.
      a = lib::mul(a.requires_grad_(), 1.0);
    } else {
      no_grad_.emplace();
      autocast_.emplace(lib::kCPU, lib::kBFloat16);
    }
  }
  void run() override { f_(a, b, w); }

 private:
  F f_;
  Tensor a, b, w;
  std::optional<lib::NoGradGuard> no_grad_;
  std::optional<lib::AutocastGuard> autocast_;
};

template <class F>
std::unique_ptr<Call> make(const Case& c, F f) { return std::make_unique<ShuntCall<F>>(c, f); }

}  // namespace

std::unique_ptr<Call> makeShuntCall(const Case& c) {
#define SHUNT_MAKE(name, expression) \
  if (c.op == #name) return make(c, [](const Tensor& a, [[maybe_unused]] const Tensor& b, [[maybe_unused]] const Tensor& w) { return expression; });
  SHUNT_BENCH_OPERATORS(SHUNT_MAKE)
#undef SHUNT_MAKE
  throw std::invalid_argument("no operator " + c.op);
}

}  // namespace bench
