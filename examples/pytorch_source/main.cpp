// Source for PyTorch's C++ API that compiles unchanged against PyTorch and Shunt. It has an operator with a CPU kernel
// and a gradient, and uses the tensor API.
#include <torch/library.h>
#include <torch/torch.h>

#include <iostream>

namespace {

/// Calls the operator, through the dispatcher.
at::Tensor soft_sign(const at::Tensor& x, double scale) {
  static auto op = c10::Dispatcher::singleton()
                       .findSchemaOrThrow("example_source::soft_sign", "")
                       .typed<at::Tensor(const at::Tensor&, double)>();
  return op.call(x, scale);
}

at::Tensor soft_sign_cpu(const at::Tensor& x, double scale) {
  TORCH_CHECK(x.dim() == 1, "soft_sign: expected a vector, got ", x.dim(), " dimensions");
  at::Tensor y = at::empty_like(x);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "soft_sign", [&] {
    const auto in = x.accessor<scalar_t, 1>();
    auto out = y.accessor<scalar_t, 1>();
    const auto s = static_cast<scalar_t>(scale);
    at::parallel_for(0, in.size(0), 1024, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) out[i] = in[i] / (s + std::abs(in[i]));
    });
  });
  return y;
}

struct SoftSign : torch::autograd::Function<SoftSign> {
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& x, double scale) {
    at::AutoDispatchBelowADInplaceOrView below;
    ctx->save_for_backward({x});
    ctx->saved_data["scale"] = scale;
    return soft_sign(x, scale);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 torch::autograd::variable_list g) {
    const at::Tensor x = ctx->get_saved_variables()[0];
    const double scale = ctx->saved_data["scale"].toDouble();
    return {g[0] * scale / (x.abs() + scale).square(), at::Tensor()};
  }
};

at::Tensor soft_sign_autograd(const at::Tensor& x, double scale) { return SoftSign::apply(x, scale); }

TORCH_LIBRARY(example_source, m) { m.def("soft_sign(Tensor x, float scale) -> Tensor"); }
TORCH_LIBRARY_IMPL(example_source, CPU, m) { m.impl("soft_sign", TORCH_FN(soft_sign_cpu)); }
TORCH_LIBRARY_IMPL(example_source, Autograd, m) { m.impl("soft_sign", TORCH_FN(soft_sign_autograd)); }

bool expect(bool so, const char* what) {
  std::cout << (so ? "" : "NOT SO: ") << what << '\n';
  return so;
}

}  // namespace

int main() {
  bool good = true;
  at::Tensor x = torch::tensor({-2.0, 0.0, 2.0}, torch::kDouble).requires_grad_();
  const at::Tensor y = soft_sign(x, 2);
  good &= expect(torch::allclose(y, torch::tensor({-0.5, 0.0, 0.5}, torch::kDouble)), "values -0.5, 0, 0.5");
  y.sum().backward();
  good &= expect(torch::allclose(x.grad(), torch::tensor({0.125, 0.5, 0.125}, torch::kDouble)),
                 "gradients 0.125, 0.5, 0.125");
  const at::Tensor m = torch::arange(6).reshape({2, 3});
  using torch::indexing::Slice;
  good &= expect(m.index({0, Slice(1, torch::indexing::None)}).equal(torch::tensor({1, 2})), "m[0, 1:] is [1, 2]");
  try {
    soft_sign(torch::ones({2, 2}), 1);
    good &= expect(false, "a matrix is refused");
  } catch (const c10::Error& e) {
    std::cout << e.what_without_backtrace() << '\n';
  }
  return good ? 0 : 1;
}
