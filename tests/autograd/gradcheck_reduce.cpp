// Gradcheck's cases of reductions, softmax and layer_norm.
#include "tests/autograd/gradcheck_cases.h"

namespace shunt::test {
namespace {

template <class F>
GradcheckCase of(const char* op, std::vector<int64_t> sizes, F f, double low = -2, double high = 2) {
  return {op, [=] { return variable_list{var(sizes, low, high)}; },
          [f](const variable_list& x) { return variable_list{f(x[0])}; }};
}

void addSums(Cases& c) {
  c.push_back(of("sum", {2, 3}, [](const Tensor& x) { return x.sum(); }));
  c.push_back(of("sum", {}, [](const Tensor& x) { return x.sum(); }));
  c.push_back(of("sum.dim_IntList", {2, 3, 2}, [](const Tensor& x) { return x.sum({0, -1}); }));
  c.push_back(of("sum.dim_IntList", {2, 3, 2}, [](const Tensor& x) { return x.sum({1}, true); }));
  c.push_back(of("sum.dim_IntList", {2, 3}, [](const Tensor& x) { return x.sum(std::nullopt, true); }));
  c.push_back(of("mean", {2, 3}, [](const Tensor& x) { return x.mean(); }));
  c.push_back(of("mean.dim", {2, 3, 2}, [](const Tensor& x) { return x.mean({0, 2}); }));
  c.push_back(of("mean.dim", {2, 3}, [](const Tensor& x) { return x.mean({-1}, true); }));
  c.push_back(of("prod", {2, 2}, [](const Tensor& x) { return x.prod(); }));
  c.push_back(of("prod.dim_int", {2, 3}, [](const Tensor& x) { return x.prod(1); }));
  c.push_back(of("prod.dim_int", {2, 3}, [](const Tensor& x) { return x.prod(-2, true); }));
  c.push_back(of("prod.dim_int", {2, 3}, [](const Tensor& x) { return x.mul(x.gt(0)).prod(1); }));  // with zeros
}

void addExtrema(Cases& c) {
  c.push_back(of("amax", {2, 3}, [](const Tensor& x) { return x.amax(); }));
  c.push_back(of("amax", {2, 3, 2}, [](const Tensor& x) { return x.amax({0, -1}, true); }));
  c.push_back(of("amin", {2, 3}, [](const Tensor& x) { return x.amin({1}); }));
  c.push_back(of("max", {2, 3}, [](const Tensor& x) { return x.max(); }));
  c.push_back(of("min", {2, 3}, [](const Tensor& x) { return x.min(); }));
  c.push_back(of("max.dim", {2, 3}, [](const Tensor& x) { return std::get<0>(x.max(1)); }));
  c.push_back(of("max.dim", {2, 3}, [](const Tensor& x) { return std::get<0>(x.max(-2, true)); }));
  c.push_back(of("min.dim", {2, 3}, [](const Tensor& x) { return std::get<0>(x.min(0)); }));
}

}  // namespace

Cases reductionCases() {
  Cases c;
  addSums(c);
  addExtrema(c);
  return c;
}

}  // namespace shunt::test
