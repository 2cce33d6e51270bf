// The operator that the tests of batching rules share: sums along its last dimension, times weights; with a gradient.
#pragma once

#include "tests/vmap/util.h"

#include <shunt/autograd/custom_function.h>
#include <shunt/transforms/batching.h>

namespace shunt::test {

/// batching_test::scan(Tensor x, Tensor w, float k=1) -> Tensor: x.cumsum(-1) * w * k
class ScanOperator : public testing::Test {
 public:
  static inline int rule_calls, kernel_calls;

 protected:
  using Scan = TypedOperatorHandle<Tensor(const Tensor&, const Tensor&, double)>;

  ScanOperator() : lib_(Library::Kind::kDef, "batching_test"), op_(define(lib_)) {
    const auto kernel = +[](const Tensor& x, const Tensor& w, double k) {
      ++kernel_calls;
      return x.cumsum(-1) * w * k;
    };
    lib_.impl("scan", DispatchKey::CPU, kernel);
    lib_.impl("scan", DispatchKey::Meta, [](const Tensor& x, const Tensor& w, double k) { return x * w * k; });
    lib_.impl("scan", DispatchKey::Autograd, &Gradient::call);
  }
  Tensor scan(const Tensor& x, const Tensor& w) const { return op_.call(x, w, 0.5); }

  static Batched scanRule(const Batched& x, const Batched& w, double k) {
    ++rule_calls;
    const int64_t dims = std::max(x.sample_dim(), w.sample_dim());
    return {handle().call(x.aligned(dims), w.aligned(dims), k), 0};
  }

  /// The gradient of a function of one tensor by backward().
  template <class F>
  static Tensor plainGrad(const F& f, const Tensor& at) {
    const Tensor x = at.detach().clone().requires_grad_();
    f(x).backward();
    return x.grad();
  }
  static Tensor wholeNumbers(IntArrayRef sizes) { return randint(-4, 5, sizes, TensorOptions(kDouble)); }

  Library lib_;
  const Scan op_;

 private:
  static Scan handle() {
    return Dispatcher::singleton()
        .findSchemaOrThrow("batching_test::scan", "")
        .typed<Tensor(const Tensor&, const Tensor&, double)>();
  }
  static Scan define(Library& lib) {
    lib.def("scan(Tensor x, Tensor w, float k=1) -> Tensor");
    return handle();
  }

  struct Gradient : autograd::Function<Gradient> {
    static Tensor call(const Tensor& x, const Tensor& w, double k) { return apply(x, w, k); }
    static Tensor forward(autograd::AutogradContext* ctx, const Tensor& x, const Tensor& w, double k) {
      ctx->save_for_backward({x, w});
      ctx->saved_data["k"] = k;
      const AutoDispatchBelowAutograd below;
      return handle().call(x, w, k);
    }
    static autograd::variable_list backward(autograd::AutogradContext* ctx, autograd::variable_list grads) {
      const auto saved = ctx->get_saved_variables();
      const Tensor &x = saved[0], &w = saved[1], g = grads[0] * ctx->saved_data["k"].toDouble();
      const Tensor to_x = (g * w).flip({-1}).cumsum(-1).flip({-1});
      return {to_x.sum_to_size(x.sizes()), (g * x.cumsum(-1)).sum_to_size(w.sizes()), Tensor()};
    }
  };
};

}  // namespace shunt::test
