// Gradcheck's cases of reductions, softmax and layer_norm.
#include "tests/autograd/gradcheck_cases.h"

#include <limits>

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
  c.push_back(of("median", {2, 3}, [](const Tensor& x) { return x.median(); }));
  c.push_back(of("nanmedian", {2, 3}, [](const Tensor& x) { return x.nanmedian(); }));
  c.push_back(of("min", {2, 3}, [](const Tensor& x) { return x.min(); }));
  c.push_back(of("max.dim", {2, 3}, [](const Tensor& x) { return std::get<0>(x.max(1)); }));
  c.push_back(of("max.dim", {2, 3}, [](const Tensor& x) { return std::get<0>(x.max(-2, true)); }));
  c.push_back(of("min.dim", {2, 3}, [](const Tensor& x) { return std::get<0>(x.min(0)); }));
}

void addMoments(Cases& c) {
  c.push_back(of("var.correction", {2, 3}, [](const Tensor& x) { return x.var(); }));
  c.push_back(of("var.correction", {2, 3, 2}, [](const Tensor& x) { return x.var({0, 2}, false, true); }));
  c.push_back(
      of("var.correction", {5}, [](const Tensor& x) { return x.var(std::nullopt, std::optional<int64_t>(2)); }));
  c.push_back(of("std.correction", {2, 3}, [](const Tensor& x) { return x.std(); }));
  c.push_back(of("std.correction", {2, 3, 2}, [](const Tensor& x) { return x.std({-1}, std::optional<int64_t>(0)); }));
  for (const bool keepdim : {false, true}) {
    c.push_back({"var_mean.correction", [] { return variable_list{var({2, 3})}; },
                 [keepdim](const variable_list& x) {
                   const auto [v, m] = var_mean(x[0], {1}, true, keepdim);
                   return variable_list{v, m};
                 }});
    c.push_back({"std_mean.correction", [] { return variable_list{var({2, 3})}; },
                 [keepdim](const variable_list& x) {
                   const auto [s, m] = std_mean(x[0], {0}, false, keepdim);
                   return variable_list{s, m};
                 }});
  }
  // One of the two results alone.
  c.push_back(of("var_mean.correction", {2, 3}, [](const Tensor& x) { return std::get<1>(var_mean(x, {1}, true)); }));
  c.push_back(of("std_mean.correction", {2, 3}, [](const Tensor& x) { return std::get<0>(std_mean(x, {1}, true)); }));
}

void addNorms(Cases& c) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  for (const double p : {0.5, 1.0, 1.5, 2.0, 3.0, 3.5, kInf, -kInf}) {
    c.push_back(of("linalg_vector_norm", {2, 3}, [p](const Tensor& x) { return linalg_vector_norm(x, p, {1}, true); }));
    c.push_back(of("norm.Scalar", {2, 3}, [p](const Tensor& x) { return x.norm(p); }));
  }
  c.push_back(of("linalg_vector_norm", {}, [](const Tensor& x) { return linalg_vector_norm(x, 3); }));
  c.push_back(of("norm.ScalarOpt_dim", {2, 3, 2}, [](const Tensor& x) { return x.norm(3, {0, -1}); }));
  c.push_back(of("norm.ScalarOpt_dim", {2, 3}, [](const Tensor& x) { return x.norm(std::nullopt, {1}, true); }));
  c.push_back(of("norm.ScalarOpt_dtype", {2, 3}, [](const Tensor& x) { return x.norm(2, kDouble); }));
  c.push_back(of("norm.ScalarOpt_dim_dtype", {2, 3}, [](const Tensor& x) { return x.norm(1, {0}, false, kDouble); }));
  c.push_back(of("logsumexp", {2, 3}, [](const Tensor& x) { return x.logsumexp({1}); }));
  c.push_back(of("logsumexp", {2, 3, 2}, [](const Tensor& x) { return x.logsumexp({0, 2}, true); }));
  c.push_back(of("trace", {3, 2}, [](const Tensor& x) { return x.trace(); }));
}

void addScans(Cases& c) {
  c.push_back(of("cumsum", {2, 3}, [](const Tensor& x) { return x.cumsum(1); }));
  c.push_back(of("cumsum", {3, 2}, [](const Tensor& x) { return x.cumsum(-2); }));
  c.push_back(of("cumprod", {2, 3}, [](const Tensor& x) { return x.cumprod(1); }));
  c.push_back(of("cumprod", {3, 2}, [](const Tensor& x) { return x.mul(x.gt(0)).cumprod(0); }));  // with zeros
}

}  // namespace

Cases reductionCases() {
  Cases c;
  addSums(c);
  addExtrema(c);
  addMoments(c);
  addNorms(c);
  addScans(c);
  return c;
}

}  // namespace shunt::test
