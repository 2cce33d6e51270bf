// Shunt's side of bench_calls: a call of each case, with its operands made beforehand.
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
    const Shapes shapes = shapesOf(c);
    a = lib::randn(shapes.a);
    b = lib::randn(shapes.b);
    w = lib::randn(shapes.w);
    if (c.mode == Mode::kNoGrad) {
      no_grad_.emplace();
    } else if (c.mode == Mode::kGrad) {
      a = lib::mul(a.requires_grad_(), 1.0);
    } else if (c.mode == Mode::kGradAutocast) {
      a = lib::mul(a.requires_grad_(), 1.0).to(lib::kBFloat16);
      b.requires_grad_();
      w.requires_grad_();
      autocast_.emplace(lib::kCPU, lib::kBFloat16);
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
std::unique_ptr<Call> make(const Case& c, F f) {
  return std::make_unique<ShuntCall<F>>(c, f);
}

}  // namespace

std::unique_ptr<Call> makeShuntCall(const Case& c) {
#define SHUNT_MAKE(name, expression) \
  if (c.op == #name)                 \
    return make(                     \
        c, [](const Tensor& a, [[maybe_unused]] const Tensor& b, [[maybe_unused]] Tensor& w) { return expression; });
  SHUNT_BENCH_ALL_OPERATORS(SHUNT_MAKE)
#undef SHUNT_MAKE
  throw std::invalid_argument("no operator " + c.op);
}

}  // namespace bench
