#include "tests/diff/many_calls.h"

#include <shunt/jit/jit.h>

namespace diff {

using namespace shunt;

Tensor numbers(std::initializer_list<int64_t> sizes, ScalarType dtype) {
  int64_t n = 1;
  for (const int64_t s : sizes) n *= s;
  // Not by a product, which the stress of threads overrides.
  return (shunt::arange(n, TensorOptions(kFloat)) / 4.f - 1.f).to(dtype).reshape(std::vector<int64_t>(sizes)).clone();
}

std::string bytesOf(const Tensor& t) {
  const Tensor c = t.contiguous();
  return {static_cast<const char*>(c.data_ptr()), static_cast<size_t>(c.numel() * c.element_size())};
}

namespace {

Tensor gradientOf(const Tensor& x, const std::function<Tensor(const Tensor&)>& f) {
  const Tensor leaf = x.detach().clone().requires_grad_();
  f(leaf).sum().backward();
  return leaf.grad();
}

}  // namespace

const std::vector<Call>& calls() {
  static const std::vector<Call> all = {
      [](const Operands& x) { return x.a.add(x.b); },
      [](const Operands& x) { return x.a.add(x.row); },
      [](const Operands& x) { return x.a.add(x.t); },
      [](const Operands& x) { return x.a.add(x.doubles); },
      [](const Operands& x) { return x.half.add(x.a); },
      [](const Operands& x) { return x.ints.add(x.a); },
      [](const Operands& x) { return x.a.sub(x.b); },
      [](const Operands& x) { return x.doubles.sub(x.doubles); },
      [](const Operands& x) { return x.a.div(x.b); },
      [](const Operands& x) { return x.ints.div(x.ints.add(10), "floor").to(kFloat); },
      [](const Operands& x) { return x.a.exp(); },
      [](const Operands& x) { return x.half.exp(); },
      [](const Operands& x) { return x.a.relu(); },
      [](const Operands& x) { return x.t.sigmoid(); },
      [](const Operands& x) { return x.a.tanh(); },
      [](const Operands& x) { return x.a.sum(); },
      [](const Operands& x) { return x.a.mm(x.m); },
      [](const Operands& x) { return x.a.clone().add_(x.row); },
      [](const Operands& x) { return x.a.gt(x.b); },
      [](const Operands& x) { return shunt::maximum(x.a, x.t); },
      [](const Operands& x) { return x.a.t().clone(); },
      [](const Operands& x) { return x.a.softmax(-1); },
      [](const Operands& x) { return gradientOf(x.a, [&](const Tensor& y) { return y.add(x.b); }); },
      [](const Operands& x) { return gradientOf(x.a, [&](const Tensor& y) { return y.sub(x.row); }); },
      [](const Operands& x) { return gradientOf(x.a, [](const Tensor& y) { return y.relu(); }); },
      [](const Operands& x) { return gradientOf(x.row, [&](const Tensor& y) { return x.a.add(y); }); },
      [](const Operands& x) { return gradientOf(x.a, [](const Tensor& y) { return y.t().add(1); }); },
      [](const Operands& x) { return gradientOf(x.a, [](const Tensor& y) { return y.clone().add_(2); }); },
      [](const Operands& x) { return gradientOf(x.doubles, [](const Tensor& y) { return y.neg(); }); },
      [](const Operands& x) {
        NoGradGuard guard;
        return x.a.detach().requires_grad_().sub(x.b);
      },
  };
  return all;
}

std::vector<std::string> interpretedResults() {
  std::vector<std::string> all;
  jit::set_enabled(false);
  for (const Call& call : calls()) all.push_back(bytesOf(call(Operands())));
  jit::set_enabled(true);
  return all;
}

int firstWrong(const Operands& x, const std::vector<std::string>& expected) {
  for (size_t i = 0; i < calls().size(); ++i)
    if (bytesOf(calls()[i](x)) != expected[i]) return static_cast<int>(i);
  return -1;
}

}  // namespace diff
