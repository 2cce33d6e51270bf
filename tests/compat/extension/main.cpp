// A custom operator in PyTorch's spelling: defined, implemented for the CPU, called typed and boxed.
#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <cstdio>

namespace {

at::Tensor scaled_add(const at::Tensor& self, const at::Tensor& other, double scale) {
  TORCH_CHECK(self.sizes() == other.sizes(), "scaled_add: expected equal sizes, got ", self.sizes(), " and ",
              other.sizes());
  return at::add(self, at::mul(other, scale));
}

bool holds(const at::Tensor& t, float expected) { return t.sum().item<float>() == expected; }

}  // namespace

TORCH_LIBRARY(extension, m) { m.def("scaled_add(Tensor self, Tensor other, float scale) -> Tensor"); }
TORCH_LIBRARY_IMPL(extension, CPU, m) { m.impl("scaled_add", TORCH_FN(scaled_add)); }

int main() {
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("extension::scaled_add", "");
  const at::Tensor a = at::ones({4}), b = at::ones({4});
  const auto typed = op.typed<at::Tensor(const at::Tensor&, const at::Tensor&, double)>();
  torch::jit::Stack stack{a, b, 2.0};
  op.callBoxed(&stack);
  bool refused = false;
  try {
    typed.call(a, at::ones({3}), 2.0);
  } catch (const c10::Error&) {
    refused = true;
  }
  const bool right = holds(typed.call(a, b, 2.0), 12) && stack.size() == 1 && holds(stack[0].toTensor(), 12) && refused;
  std::puts(right ? "the extension's operator is right" : "the extension's operator is WRONG");
  return right ? 0 : 1;
}
