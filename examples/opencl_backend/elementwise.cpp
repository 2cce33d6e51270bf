// Elementwise operators: one template for all, of an operator and the expression that computes an element. In the
// expression, x, y and z are the tensor arguments and p and q the numbers, in the schema's order. x + 1 comes as
// add.Tensor of x and a wrapped number, a 0-dim tensor on the CPU.
#include "operands.h"

#include <algorithm>

namespace opencl {
namespace {

using namespace shunt;

template <size_t N>
struct Text {
  char chars[N];
  constexpr Text(const char (&text)[N]) { std::copy_n(text, N, chars); }
};

bool isNumber(const Tensor& t) { return t.is_cpu() && t.dim() == 0 && t.unsafeGetTensorImpl()->is_wrapped_number(); }

struct Call {
  std::vector<Tensor> inputs;
  std::vector<float> numbers;
  Tensor out;

  template <class T>
  void add(T& argument, bool first) {
    if constexpr (std::is_same_v<T, const Scalar>)
      numbers.push_back(static_cast<float>(argument.toDouble()));
    else if constexpr (std::is_same_v<T, const Tensor>)
      inputs.push_back(argument);
    else
      out = argument;
    if (first && out.defined()) inputs.push_back(out);  // in place
  }

  /// The rest, and what is an error, is the fallback's.
  bool isServedHere() const {
    std::vector<int64_t> sizes;
    if (inputs.empty() || !isServed(first())) return false;
    for (const Tensor& t : inputs) {
      if (t.defined() && isNumber(t)) continue;
      if (!isServed(t) || t.device() != first().device()) return false;
      if (out.defined() && !t.is_same(out) && t.is_alias_of(out)) return false;
    }
    if (!areBroadcastable(sizes)) return false;
    return !out.defined() || (isServed(out) && out.device() == first().device() && out.sizes() == IntArrayRef(sizes) &&
                              out.is_non_overlapping_and_dense());
  }

  /// The first that is no number; if there is none, the first.
  const Tensor& first() const {
    for (const Tensor& t : inputs)
      if (t.defined() && !isNumber(t)) return t;
    return inputs[0];
  }

  bool areBroadcastable(std::vector<int64_t>& sizes) const {
    for (const Tensor& t : inputs) {
      sizes.insert(sizes.begin(),
                   static_cast<size_t>(std::max<int64_t>(0, t.dim() - static_cast<int64_t>(sizes.size()))), 1);
      for (size_t i = 1; i <= t.sizes().size(); ++i) {
        const int64_t size = t.sizes()[t.sizes().size() - i];
        int64_t& common = sizes[sizes.size() - i];
        if (common != size && common != 1 && size != 1) return false;
        if (common == 1) common = size;
      }
    }
    return true;
  }

  void run(const char* expression, ScalarType result) {
    std::vector<int64_t> sizes;
    areBroadcastable(sizes);
    if (!out.defined()) out = empty(sizes, TensorOptions(result).device(first().device()));
    numbers.resize(2);
    float wrapped[3] = {};
    std::vector<Tensor> operands = {out};
    std::string arguments;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const bool number = isNumber(inputs[i]);
      if (number) wrapped[i] = inputs[i].item<float>();
      operands.push_back(number ? first() : inputs[i]);
      arguments += detail::str("  float ", "xyz"[i], " = ",
                               number ? detail::str("n", i) : detail::str("abc"[i], "[at(&l, ", i + 1, ", i)]"), ";\n");
    }
    const Layout layout = layoutOf(operands);
    operands.resize(4, first());  // a kernel takes three inputs, and looks at those it has
    const std::string source = kLayoutSource + (out.dtype() == kBool ? "typedef uchar R;" : "typedef float R;") + R"(
__kernel void elementwise(Layout l, float p, float q, float n0, float n1, float n2, __global R* out, __global const float* a,
                          __global const float* b, __global const float* c) {
  long i = get_global_id(0);
)" + arguments + detail::str("  out[at(&l, 0, i)] = ", expression, ";\n}\n");
    Runtime::get().run(out.device(), source, "elementwise", {static_cast<size_t>(out.numel())}, layout, numbers[0],
                       numbers[1], wrapped[0], wrapped[1], wrapped[2], bufferOf(operands[0]), bufferOf(operands[1]),
                       bufferOf(operands[2]), bufferOf(operands[3]));
  }
};

template <class Op, Text Expression, ScalarType Result, class Schema = typename Op::Schema>
struct Elementwise;
template <class Op, Text Expression, ScalarType Result, class R, class... A>
struct Elementwise<Op, Expression, Result, R(A...)> {
  static R kernel(A... arguments) {
    Call call;
    size_t i = 0;
    (call.add(arguments, i++ == 0), ...);
    if (!call.isServedHere()) return call_fallback_fn<&cpu_fallback, Op>::call(arguments...);
    call.run(Expression.chars, Result);
    if constexpr (std::is_same_v<R, Tensor&>)
      return writtenOf(arguments...);
    else
      return call.out;
  }
  /// The one Tensor& among the arguments.
  template <class... B>
  static Tensor& writtenOf(B&... all) {
    Tensor* written = nullptr;
    const auto look = [&](auto& a) {
      if constexpr (std::is_same_v<decltype(a), Tensor&>) written = &a;
    };
    (look(all), ...);
    return *written;
  }
};

template <Text Expression, ScalarType Result, class... Ops>
void implAll(Library& m) {
  (m.impl(Ops::overload_name[0] == 0 ? Ops::name : detail::str(Ops::name, ".", Ops::overload_name),
          CppFunction::makeUnboxed<&Elementwise<Ops, Expression, Result>::kernel>()),
   ...);
}

#define ARITHMETIC(expression, ...) implAll<expression, kFloat, __VA_ARGS__>(m)
#define COMPARISON(expression, ...) implAll<expression, kBool, __VA_ARGS__>(m)

}  // namespace

SHUNT_LIBRARY_IMPL(aten, PrivateUse1, m) {
  ARITHMETIC("p", ops::fill__Scalar);
  ARITHMETIC("x + p * y", ops::add_Tensor, ops::add__Tensor, ops::add_out);
  ARITHMETIC("x - p * y", ops::sub_Tensor, ops::sub__Tensor, ops::sub_out);
  ARITHMETIC("x * y", ops::mul_Tensor, ops::mul__Tensor, ops::mul_out);
  ARITHMETIC("x / y", ops::div_Tensor, ops::div__Tensor, ops::div_out);
  ARITHMETIC("x + p * y * z", ops::addcmul, ops::addcmul_);
  ARITHMETIC("x + p * (y / z)", ops::addcdiv, ops::addcdiv_);
  ARITHMETIC("-x", ops::neg, ops::neg_, ops::neg_out);
  ARITHMETIC("fabs(x)", ops::abs, ops::abs_, ops::abs_out);
  ARITHMETIC("exp(x)", ops::exp, ops::exp_, ops::exp_out);
  ARITHMETIC("log(x)", ops::log, ops::log_, ops::log_out);
  ARITHMETIC("sqrt(x)", ops::sqrt, ops::sqrt_, ops::sqrt_out);
  ARITHMETIC("tanh(x)", ops::tanh, ops::tanh_, ops::tanh_out);
  ARITHMETIC("1 / (1 + exp(-x))", ops::sigmoid, ops::sigmoid_, ops::sigmoid_out);
  ARITHMETIC("x > 0 || isnan(x) ? x : 0", ops::relu, ops::relu_);
  ARITHMETIC("y > p ? x : 0", ops::threshold_backward);
  ARITHMETIC("x * (1 - y) * y", ops::sigmoid_backward);
  ARITHMETIC("x * (1 - y * y)", ops::tanh_backward);
  COMPARISON("x == y", ops::eq_Tensor);
  COMPARISON("x != y", ops::ne_Tensor);
  COMPARISON("x < y", ops::lt_Tensor);
  COMPARISON("x <= y", ops::le_Tensor);
  COMPARISON("x > y", ops::gt_Tensor);
  COMPARISON("x >= y", ops::ge_Tensor);
  COMPARISON("x > p", ops::gt_Scalar);
  COMPARISON("x < p", ops::lt_Scalar);
}

}  // namespace opencl
