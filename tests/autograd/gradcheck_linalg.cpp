// Gradcheck's cases of matrix products, factors and solutions, layers and losses.
#include "tests/autograd/gradcheck_cases.h"

namespace shunt::test {
namespace {

template <class F>
GradcheckCase of(const char* op, std::vector<std::vector<int64_t>> sizes, F f) {
  return {op,
          [=] {
            variable_list inputs;
            for (size_t i = 0; i < sizes.size(); ++i) inputs.push_back(var(sizes[i], -2, 2, i + 1));
            return inputs;
          },
          [f](const variable_list& x) { return variable_list{f(x)}; }};
}

void addProducts(Cases& c) {
  c.push_back(of("mm", {{2, 3}, {3, 4}}, [](const variable_list& x) { return x[0].mm(x[1]); }));
  c.push_back(of("mm", {{3, 2}, {4, 3}}, [](const variable_list& x) { return x[0].t().mm(x[1].t()); }));
  c.push_back(of("bmm", {{2, 2, 3}, {2, 3, 2}}, [](const variable_list& x) { return x[0].bmm(x[1]); }));
  c.push_back(
      of("addmm", {{4}, {2, 3}, {3, 4}}, [](const variable_list& x) { return x[0].addmm(x[1], x[2], 0.5, 2); }));
  c.push_back(of("addmm", {{2, 4}, {2, 3}, {4, 3}}, [](const variable_list& x) { return x[0].addmm(x[1], x[2].t()); }));
  c.push_back(of("addmm_", {{2, 4}, {2, 3}, {3, 4}}, [](const variable_list& x) {
    Tensor y = x[0].clone();
    return y.addmm_(x[1], x[2], 0.5, 2);
  }));
  c.push_back(of("baddbmm", {{2, 1, 2}, {2, 2, 3}, {2, 3, 2}},
                 [](const variable_list& x) { return x[0].baddbmm(x[1], x[2], 0.5, 2); }));
  c.push_back(of("dot", {{3}, {3}}, [](const variable_list& x) { return x[0].dot(x[1]); }));
  c.push_back(of("linalg_cross", {{2, 3}, {2, 3}}, [](const variable_list& x) { return linalg_cross(x[0], x[1]); }));
  c.push_back(of("linalg_cross", {{3, 1}, {3, 2}}, [](const variable_list& x) { return cross(x[0], x[1], 0); }));
  c.push_back(of("bmm", {{2, 3}, {3, 4}, {4}},
                 [](const variable_list& x) { return einsum("ij,jk,k->ki", {x[0], x[1], x[2]}); }));
  c.push_back(
      of("diagonal", {{3, 3}, {3, 3}}, [](const variable_list& x) { return einsum("ii,ji->j", {x[0], x[1]}); }));
  c.push_back(of("mv", {{2, 3}, {3}}, [](const variable_list& x) { return x[0].mv(x[1]); }));
}

/// A matrix, or a batch of them, well away from singular ones.
Tensor regular(const Tensor& x) { return x.add(eye(x.size(-1), kDouble).mul(5)); }

void addFactors(Cases& c) {
  for (const auto& sizes : {std::vector<int64_t>{3, 3}, std::vector<int64_t>{2, 2, 2}}) {
    c.push_back(of("_linalg_det", {sizes}, [](const variable_list& x) { return linalg_det(regular(x[0])); }));
    c.push_back(of("_linalg_slogdet", {sizes},
                   [](const variable_list& x) { return std::get<1>(linalg_slogdet(regular(x[0]))); }));
    c.push_back(of("linalg_inv_ex", {sizes}, [](const variable_list& x) { return linalg_inv(regular(x[0])); }));
    for (const bool upper : {false, true})
      c.push_back(of("linalg_cholesky_ex", {sizes}, [=](const variable_list& x) {
        const Tensor a = regular(x[0]);
        return linalg_cholesky(a.matmul(a.transpose(-2, -1)), upper);
      }));
  }
  // At singular matrices of rank 2 and 1: the cofactors are polynomials there, too. Those of rank 1 have second
  // derivatives that the formula doesn't see.
  for (const bool second : {true, false}) {
    c.push_back(of("_linalg_det", {{3, 3}}, [=](const variable_list& x) {
      const Tensor at = tensorOf({1, 0, 0, 0, second ? 1.0 : 0.0, 0, 0, 0, 0}).to(kDouble).view({3, 3});
      return linalg_det(at.add(x[0].sub(spread({3, 3}))));
    }));
    c.back().second = second;
  }
}

void addSolutions(Cases& c) {
  c.push_back(
      of("_linalg_solve_ex", {{3, 3}, {3}}, [](const variable_list& x) { return linalg_solve(regular(x[0]), x[1]); }));
  c.push_back(of("_linalg_solve_ex", {{2, 3, 3}, {2, 3}},
                 [](const variable_list& x) { return linalg_solve(regular(x[0]), x[1]); }));
  c.push_back(of("_linalg_solve_ex", {{2, 1, 2, 2}, {3, 2, 2}},
                 [](const variable_list& x) { return linalg_solve(regular(x[0]), x[1]); }));
  c.push_back(of("_linalg_solve_ex", {{3, 3}, {2, 3}},
                 [](const variable_list& x) { return linalg_solve(regular(x[0]), x[1], false); }));
  for (const bool upper : {false, true})
    for (const bool unit : {false, true}) {
      c.push_back(of("linalg_solve_triangular", {{3, 3}, {3, 2}}, [=](const variable_list& x) {
        return linalg_solve_triangular(regular(x[0]), x[1], upper, true, unit);
      }));
      c.push_back(of("linalg_solve_triangular", {{2, 2}, {2, 1, 2}}, [=](const variable_list& x) {
        return linalg_solve_triangular(regular(x[0]), x[1], upper, false, unit);
      }));
    }
}

void addSoftmax(Cases& c) {
  c.push_back(of("_softmax", {{2, 3}}, [](const variable_list& x) { return x[0].softmax(1); }));
  c.push_back(of("_softmax", {{2, 3}}, [](const variable_list& x) { return x[0].softmax(0); }));
  c.push_back(of("_log_softmax", {{2, 3}}, [](const variable_list& x) { return x[0].log_softmax(-1); }));
  c.push_back(of("_softmax_backward_data", {{2, 3}, {2, 3}},
                 [](const variable_list& x) { return _softmax_backward_data(x[0], x[1], 1, kDouble); }));
  c.push_back(of("_log_softmax_backward_data", {{2, 3}, {2, 3}},
                 [](const variable_list& x) { return _log_softmax_backward_data(x[0], x[1], 1, kDouble); }));
}

void addLayerNorm(Cases& c) {
  const std::vector<int64_t> rows = {4}, planes = {2, 3};
  c.push_back(of("native_layer_norm", {{3, 4}, {4}, {4}},
                 [=](const variable_list& x) { return layer_norm(x[0], rows, x[1], x[2]); }));
  c.push_back(of("native_layer_norm", {{2, 2, 3}, {2, 3}},
                 [=](const variable_list& x) { return layer_norm(x[0], planes, x[1], {}, 0.1); }));
  c.push_back(of("native_layer_norm", {{4}}, [=](const variable_list& x) { return layer_norm(x[0], rows); }));
  // With the statistics that belong to the input: the gradient goes through them.
  const auto backward = [](const variable_list& x, IntArrayRef shape, std::optional<Tensor> weight,
                           std::optional<Tensor> bias) {
    const auto [y, mean, rstd] = native_layer_norm(x[1].detach(), shape, weight, bias, 0.1);
    const auto [a, b, d] = native_layer_norm_backward(x[0], x[1], shape, mean, rstd, weight, bias,
                                                      {true, weight.has_value(), bias.has_value()});
    return weight ? a.sum().add(a.mul(a).sum()).add(b.mul(b).sum()).add(d.mul(d).sum()) : a;
  };
  c.push_back(of("native_layer_norm_backward", {{3, 4}, {3, 4}, {4}},
                 [=](const variable_list& x) { return backward(x, rows, x[2], spread({4}, 0.5, 2)); }));
  c.push_back(of("native_layer_norm_backward", {{2, 4}, {2, 4}},
                 [=](const variable_list& x) { return backward(x, rows, {}, {}); }));
}

Tensor classes() { return tensorOf({2, 0, 1}).to(kLong); }

/// Differences on both sides of where the square ends.
void addRobustLosses(Cases& c, int64_t reduction) {
  const std::vector<int64_t> grad = reduction == 0 ? std::vector<int64_t>{2, 3} : std::vector<int64_t>{};
  for (const auto& target : {std::vector<int64_t>{2, 3}, std::vector<int64_t>{3}}) {
    c.push_back(of("smooth_l1_loss", {{2, 3}, target},
                   [=](const variable_list& x) { return smooth_l1_loss(x[0], x[1], reduction, 1.1); }));
    c.push_back(of("smooth_l1_loss", {target, {2, 3}},
                   [=](const variable_list& x) { return smooth_l1_loss(x[0], x[1], reduction, 1.1); }));
    c.push_back(of("smooth_l1_loss_backward", {grad, {2, 3}, target},
                   [=](const variable_list& x) { return smooth_l1_loss_backward(x[0], x[1], x[2], reduction, 1.1); }));
    c.push_back(of("huber_loss", {{2, 3}, target},
                   [=](const variable_list& x) { return huber_loss(x[0], x[1], reduction, 1.1); }));
    c.push_back(of("huber_loss_backward", {grad, {2, 3}, target},
                   [=](const variable_list& x) { return huber_loss_backward(x[0], x[1], x[2], reduction, 1.1); }));
  }
}

/// No samples, one, all ignored, probabilities, smoothed labels.
void addLossesOfClasses(Cases& c, int64_t reduction) {
  const Tensor weight = spread({4}, 0.5, 2);
  c.push_back(of("nll_loss_forward", {{4}},
                 [=](const variable_list& x) { return nll_loss(x[0], zeros({}, kLong), weight, reduction, 1); }));
  c.push_back(of("nll_loss_forward", {{3, 4}}, [=](const variable_list& x) {
    return nll_loss(x[0], full({3}, 1, kLong), weight, reduction == 1 ? 2 : reduction, 1);
  }));
  c.push_back(of("nll_loss_forward", {{3, 4}}, [=](const variable_list& x) {
    return cross_entropy_loss(x[0], classes(), weight, reduction, 1, 0.25);
  }));
  c.push_back(of("nll_loss_backward", {reduction == 0 ? std::vector<int64_t>{3} : std::vector<int64_t>{}, {3, 4}},
                 [=](const variable_list& x) {
                   const Tensor total = std::get<1>(nll_loss_forward(x[1].detach(), classes(), weight, reduction, 1));
                   return nll_loss_backward(x[0], x[1], classes(), weight, reduction, 1, total);
                 }));
  c.push_back(of("_log_softmax", {{3, 4}, {3, 4}}, [=](const variable_list& x) {
    return cross_entropy_loss(x[0], x[1], weight, reduction, -100, 0.25);
  }));
}

void addLosses(Cases& c) {
  for (int64_t reduction : {0, 1, 2}) {
    c.push_back(
        of("mse_loss", {{2, 3}, {2, 3}}, [=](const variable_list& x) { return mse_loss(x[0], x[1], reduction); }));
    c.push_back(of("mse_loss", {{3}, {2, 3}}, [=](const variable_list& x) { return mse_loss(x[0], x[1], reduction); }));
    c.push_back(
        of("mse_loss", {{2, 3}, {2, 1}}, [=](const variable_list& x) { return mse_loss(x[0], x[1], reduction); }));
    c.push_back(of("nll_loss_forward", {{3, 4}}, [=](const variable_list& x) {
      return nll_loss(x[0], classes(), spread({4}, 0.5, 2), reduction, 1);
    }));
    addRobustLosses(c, reduction);
    const std::vector<int64_t> grad_sizes = reduction == 0 ? std::vector<int64_t>{2, 3} : std::vector<int64_t>{};
    c.push_back(of("mse_loss_backward", {grad_sizes, {2, 3}, {2, 3}},
                   [=](const variable_list& x) { return mse_loss_backward(x[0], x[1], x[2], reduction); }));
    c.push_back(of("mse_loss_backward", {grad_sizes, {3}, {2, 3}},
                   [=](const variable_list& x) { return mse_loss_backward(x[0], x[1], x[2], reduction); }));
    c.push_back(of("mse_loss_backward", {grad_sizes, {2, 3}, {2, 1}},
                   [=](const variable_list& x) { return mse_loss_backward(x[0], x[1], x[2], reduction); }));
    c.push_back(of("nll_loss_backward", {reduction == 0 ? std::vector<int64_t>{3} : std::vector<int64_t>{}, {3, 4}},
                   [=](const variable_list& x) {
                     const Tensor weight = spread({4}, 0.5, 2);
                     const Tensor total =
                         std::get<1>(nll_loss_forward(x[1].detach(), classes(), weight, reduction, -100));
                     return nll_loss_backward(x[0], x[1], classes(), weight, reduction, -100, total);
                   }));
  }
  c.push_back(
      of("nll_loss_forward", {{3, 4}}, [](const variable_list& x) { return cross_entropy_loss(x[0], classes()); }));
  for (int64_t reduction : {0, 1, 2}) addLossesOfClasses(c, reduction);
}

}  // namespace

Cases linalgAndLossCases() {
  Cases c;
  addProducts(c);
  addFactors(c);
  addSolutions(c);
  addSoftmax(c);
  addLayerNorm(c);
  addLosses(c);
  return c;
}

}  // namespace shunt::test
