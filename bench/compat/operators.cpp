// bench_compat's calls, in PyTorch's spelling: compiled against libtorch and against Shunt. Operators that
// TORCH_LIBRARY registers, on 16 floats, and the paths that PyTorch's op_registration_test goes.
#include "bench/compat/cases.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/op_registration/op_registration.h>
#include <torch/autograd.h>
#include <torch/library.h>

#include <string>
#include <vector>

namespace {

at::Tensor weightedAdd(const at::Tensor& a, const at::Tensor& b, double weight) {
  TORCH_CHECK(a.sizes() == b.sizes(), "weighted_add: expected equal sizes, got ", a.sizes(), " and ", b.sizes());
  TORCH_CHECK(a.scalar_type() == at::kFloat && b.scalar_type() == at::kFloat, "weighted_add: expected floats");
  const at::Tensor x = a.contiguous(), y = b.contiguous();
  at::Tensor result = at::empty_like(x);
  const float *from = x.data_ptr<float>(), *other = y.data_ptr<float>();
  float* to = result.data_ptr<float>();
  for (int64_t i = 0; i < result.numel(); ++i) to[i] = from[i] + static_cast<float>(weight) * other[i];
  return result;
}

at::Tensor callWeightedAdd(const at::Tensor& a, const at::Tensor& b, double weight) {
  static auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("bench::weighted_add", "").typed<decltype(callWeightedAdd)>();
  return op.call(a, b, weight);
}

// The same operator again, whose gradient is a custom function.
at::Tensor callLearnedAdd(const at::Tensor& a, const at::Tensor& b, double weight) {
  static auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("bench::learned_add", "").typed<decltype(callLearnedAdd)>();
  return op.call(a, b, weight);
}

class LearnedAdd : public torch::autograd::Function<LearnedAdd> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& a, const at::Tensor& b,
                            double weight) {
    at::AutoDispatchBelowADInplaceOrView below;
    ctx->saved_data["weight"] = weight;
    ctx->save_for_backward({a, b});
    return callLearnedAdd(a, b, weight);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 torch::autograd::variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    TORCH_CHECK(saved[0].sizes() == grads[0].sizes());
    return {grads[0], callWeightedAdd(grads[0], grads[0], ctx->saved_data["weight"].toDouble() - 1), at::Tensor()};
  }
};

at::Tensor learnedAddAutograd(const at::Tensor& a, const at::Tensor& b, double weight) {
  return LearnedAdd::apply(a, b, weight);
}

int64_t sumOf(const at::Tensor&, at::IntArrayRef numbers, c10::optional<int64_t> start, std::string text) {
  int64_t sum = start.value_or(0) + static_cast<int64_t>(text.size());
  for (const int64_t n : numbers) sum += n;
  return sum;
}

void countBoxed(const c10::OperatorHandle&, torch::jit::Stack* stack) {
  const int64_t number = torch::jit::peek(*stack, 1, 2).toInt();
  torch::jit::drop(*stack, 2);
  torch::jit::push(*stack, number + 1);
}

struct Adder final : c10::OperatorKernel {
  explicit Adder(int64_t more) : more_(more) {}
  int64_t operator()(const at::Tensor&, int64_t number) { return number + more_; }
  int64_t more_;
};

}  // namespace

TORCH_LIBRARY(bench, m) {
  m.def("weighted_add(Tensor a, Tensor b, float weight) -> Tensor");
  m.def("learned_add(Tensor a, Tensor b, float weight) -> Tensor");
  m.def("sum_of(Tensor t, int[] numbers, int? start, str text) -> int");
  m.def("count(Tensor t, int number) -> int");
}
TORCH_LIBRARY_IMPL(bench, CPU, m) {
  m.impl("weighted_add", TORCH_FN(weightedAdd));
  m.impl("learned_add", TORCH_FN(weightedAdd));
  m.impl("sum_of", TORCH_FN(sumOf));
  m.impl("count", torch::CppFunction::makeFromBoxedFunction<&countBoxed>());
}
TORCH_LIBRARY_IMPL(bench, Autograd, m) { m.impl("learned_add", TORCH_FN(learnedAddAutograd)); }

namespace {

const at::Tensor& left() {
  static const at::Tensor t = at::ones({16});
  return t;
}
const at::Tensor& right() {
  static const at::Tensor t = at::ones({16});
  return t;
}

c10::OperatorHandle find(const char* name) { return c10::Dispatcher::singleton().findSchemaOrThrow(name, ""); }

void typedCall(int64_t calls) {
  for (int64_t i = 0; i < calls; ++i) callWeightedAdd(left(), right(), 2.0);
}

void boxedCall(int64_t calls) {
  const auto op = find("bench::weighted_add");
  torch::jit::Stack stack;
  for (int64_t i = 0; i < calls; ++i) {
    torch::jit::push(stack, left(), right(), 2.0);
    op.callBoxed(&stack);
    stack.clear();
  }
}

void forwardAndBackward(int64_t calls) {
  static const at::Tensor a = at::ones({16}).requires_grad_(), b = at::ones({16}).requires_grad_();
  for (int64_t i = 0; i < calls; ++i) callLearnedAdd(a, b, 2.0).backward(left());
}

void forwardWithGrad(int64_t calls) {
  static const at::Tensor a = at::ones({16}).requires_grad_(), b = at::ones({16}).requires_grad_();
  for (int64_t i = 0; i < calls; ++i) callLearnedAdd(a, b, 2.0);
}

void findOperator(int64_t calls) {
  const c10::OperatorName name("bench::weighted_add", "");
  for (int64_t i = 0; i < calls; ++i) (void)c10::Dispatcher::singleton().findSchema(name);
}

void typedListCall(int64_t calls) {
  static auto op = find("bench::sum_of").typed<decltype(sumOf)>();
  const std::vector<int64_t> numbers{1, 2, 3};
  for (int64_t i = 0; i < calls; ++i) op.call(left(), numbers, 4, "text");
}

void boxedListCall(int64_t calls) {
  const auto op = find("bench::sum_of");
  const c10::List<int64_t> numbers({1, 2, 3});
  torch::jit::Stack stack;
  for (int64_t i = 0; i < calls; ++i) {
    torch::jit::push(stack, left(), numbers, 4, "text");
    op.callBoxed(&stack);
    stack.clear();
  }
}

void typedCallOfBoxedKernel(int64_t calls) {
  static auto op = find("bench::count").typed<int64_t(const at::Tensor&, int64_t)>();
  for (int64_t i = 0; i < calls; ++i) op.call(left(), i);
}

void boxedCallOfBoxedKernel(int64_t calls) {
  const auto op = find("bench::count");
  torch::jit::Stack stack;
  for (int64_t i = 0; i < calls; ++i) {
    torch::jit::push(stack, left(), i);
    op.callBoxed(&stack);
    stack.clear();
  }
}

void callOfKernelClass(int64_t calls) {
  static const auto registered =
      c10::RegisterOperators().op("bench::adder(Tensor t, int number) -> int",
                                  c10::RegisterOperators::options().kernel<Adder>(c10::DispatchKey::CPU, 3));
  static const auto op = find("bench::adder").typed<int64_t(const at::Tensor&, int64_t)>();
  for (int64_t i = 0; i < calls; ++i) op.call(left(), i);
}

void registerKernel(int64_t calls) {
  for (int64_t i = 0; i < calls; ++i)
    c10::RegisterOperators().op("bench::registered(Tensor t, int number) -> int",
                                c10::RegisterOperators::options().kernel<Adder>(c10::DispatchKey::CPU, 3));
}

constexpr BenchCompatCase kCases[] = {
    {"typed call, 16 floats", &typedCall},
    {"boxed call, 16 floats", &boxedCall},
    {"custom function, forward and backward", &forwardAndBackward},
    {"custom function, forward", &forwardWithGrad},
    {"typed call, list, optional and string", &typedListCall},
    {"boxed call, list, optional and string", &boxedListCall},
    {"typed call of a boxed kernel", &typedCallOfBoxedKernel},
    {"boxed call of a boxed kernel", &boxedCallOfBoxedKernel},
    {"call of a kernel class", &callOfKernelClass},
    {"finding an operator by name", &findOperator},
    {"registering an operator with a kernel", &registerKernel},
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const BenchCompatCase* bench_compat_cases(size_t* count) {
  at::set_num_threads(1);
  *count = sizeof kCases / sizeof *kCases;
  return kCases;
}
