// libtorch's side of bench_calls: the same calls, built with g++ against libtorch's headers.
#include "bench/calls/case_list.h"
#include "bench/calls/cases.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <ATen/autocast_mode.h>

#include <optional>
#include <stdexcept>

namespace bench {
namespace {

namespace lib = torch;
using lib::Tensor;

struct Autocast {
  Autocast() {
    at::autocast::set_autocast_cpu_dtype(at::kBFloat16);
    at::autocast::set_cpu_enabled(true);
    at::autocast::increment_nesting();
  }
  ~Autocast() {
    at::autocast::set_cpu_enabled(false);
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  }
};

template <class F>
class TorchCall : public Call {
 public:
  TorchCall(const Case& c, F f) : f_(f) {
    torch::set_num_threads(1);
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
      autocast_.emplace();
    } else {
      no_grad_.emplace();
      autocast_.emplace();
    }
  }
  void run() override { f_(a, b, w); }

 private:
  F f_;
  Tensor a, b, w;
  std::optional<torch::NoGradGuard> no_grad_;
  std::optional<Autocast> autocast_;
};

template <class F>
std::unique_ptr<Call> make(const Case& c, F f) {
  return std::make_unique<TorchCall<F>>(c, f);
}

}  // namespace

std::unique_ptr<Call> makeTorchCall(const Case& c) {
#define SHUNT_MAKE(name, expression) \
  if (c.op == #name)                 \
    return make(                     \
        c, [](const Tensor& a, [[maybe_unused]] const Tensor& b, [[maybe_unused]] Tensor& w) { return expression; });
  SHUNT_BENCH_ALL_OPERATORS(SHUNT_MAKE)
#undef SHUNT_MAKE
  throw std::invalid_argument("no operator " + c.op);
}

}  // namespace bench
