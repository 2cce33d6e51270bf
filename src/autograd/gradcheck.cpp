#include <shunt/autograd/gradcheck.h>

#include <shunt/autograd/engine.h>
#include <shunt/core/tls.h>
#include <shunt/ops.h>

#include <cmath>
#include <iomanip>
#include <random>

namespace shunt::autograd {
namespace {

using Matrix = std::vector<std::vector<double>>;  // [input element][output element]

double& element(const Tensor& t, int64_t index) {
  int64_t offset = 0;
  for (int64_t d = t.dim(); d-- > 0; index /= std::max<int64_t>(t.size(d), 1))
    offset += index % t.size(d) * t.stride(d);
  return t.data_ptr<double>()[offset];
}

std::vector<double> values(const Tensor& t) {
  const Tensor d = t.detach().to(kDouble).contiguous();
  const double* p = d.data_ptr<double>();
  return {p, p + d.numel()};
}

variable_list differentiable(const variable_list& outputs) {
  variable_list result;
  for (const Tensor& t : outputs)
    if (t.defined() && t.requires_grad()) result.push_back(t);
  return result;
}

Matrix numerical(const GradcheckFunction& f, const variable_list& inputs, const Tensor& input, size_t output,
                 double eps) {
  Matrix jacobian;
  // Through a detached handle, so that neither history nor version notices.
  const Tensor raw = input.data();
  const auto at = [&](int64_t i, double v) {
    element(raw, i) = v;
    return values(differentiable(f(inputs)).at(output));
  };
  for (int64_t i = 0; i < raw.numel(); ++i) {
    const double x = element(raw, i);
    const std::vector<double> plus = at(i, x + eps), minus = at(i, x - eps);
    element(raw, i) = x;
    std::vector<double> row(plus.size());
    for (size_t j = 0; j < row.size(); ++j) row[j] = (plus[j] - minus[j]) / (2 * eps);
    jacobian.push_back(std::move(row));
  }
  return jacobian;
}

Matrix analytical(const Tensor& output, const Tensor& input) {
  Matrix jacobian(static_cast<size_t>(input.numel()), std::vector<double>(static_cast<size_t>(output.numel()), 0.0));
  const Tensor one_hot = zeros(output.sizes(), output.options());
  for (int64_t j = 0; j < output.numel(); ++j) {
    const Tensor seed = one_hot.clone();
    seed.data_ptr<double>()[j] = 1;
    const Tensor g = grad({output}, {input}, {seed}, true, false, true)[0];
    if (!g.defined()) continue;
    SHUNT_CHECK(g.sizes().equals(input.sizes()) && g.scalar_type() == input.scalar_type(),
                "gradcheck: the gradient has shape ", g.sizes(), " and type ", g.scalar_type(), ", the input ",
                input.sizes(), " and ", input.scalar_type());
    const std::vector<double> column = values(g);
    for (size_t i = 0; i < column.size(); ++i) jacobian[i][static_cast<size_t>(j)] = column[i];
  }
  return jacobian;
}

std::string show(const Matrix& m) {
  std::ostringstream out;
  for (const auto& row : m) {
    out << "\n  [";
    for (size_t j = 0; j < row.size(); ++j) out << (j ? ", " : "") << std::setprecision(8) << row[j];
    out << "]";
  }
  return out.str();
}

bool close(const Matrix& a, const Matrix& n, const GradcheckOptions& o) {
  for (size_t i = 0; i < a.size(); ++i)
    for (size_t j = 0; j < a[i].size(); ++j)
      if (!(std::abs(a[i][j] - n[i][j]) <= o.atol + o.rtol * std::abs(n[i][j]))) return false;
  return true;
}

void checkInputs(const variable_list& inputs) {
  bool any = false;
  for (const Tensor& t : inputs) {
    if (!t.defined() || !t.requires_grad()) continue;
    any = true;
    SHUNT_CHECK(t.scalar_type() == kDouble, "gradcheck: inputs that require grad must be float64, not ",
                t.scalar_type());
    SHUNT_CHECK(t.is_leaf(), "gradcheck: inputs that require grad must be leaves");
  }
  SHUNT_CHECK(any, "gradcheck: no input requires grad");
}

}  // namespace

bool gradcheck(const GradcheckFunction& f, const variable_list& inputs, const GradcheckOptions& options) {
  checkInputs(inputs);
  EnableGradGuard enable;
  const variable_list outputs = differentiable(f(inputs));
  SHUNT_CHECK(!outputs.empty(), "gradcheck: no output requires grad");
  for (size_t o = 0; o < outputs.size(); ++o) {
    SHUNT_CHECK(outputs[o].scalar_type() == kDouble, "gradcheck: output ", o, " is not float64");
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].defined() || !inputs[i].requires_grad()) continue;
      const Matrix n = numerical(f, inputs, inputs[i], o, options.eps);
      const Matrix a = analytical(outputs[o], inputs[i]);
      SHUNT_CHECK(close(a, n, options), "gradcheck: Jacobian mismatch for output ", o, " with respect to input ", i,
                  "\nnumerical:", show(n), "\nanalytical:", show(a));
    }
  }
  return true;
}

bool gradgradcheck(const GradcheckFunction& f, const variable_list& inputs, const GradcheckOptions& options) {
  checkInputs(inputs);
  EnableGradGuard enable;
  std::mt19937_64 random(options.seed);
  variable_list all = inputs;
  for (const Tensor& output : differentiable(f(inputs))) {
    const Tensor g = zeros(output.sizes(), output.options());
    for (int64_t j = 0; j < g.numel(); ++j)
      g.data_ptr<double>()[j] = 0.5 + static_cast<double>(random() >> 11) * 0x1p-53;
    all.push_back(g.requires_grad_());
  }
  const size_t n = inputs.size();
  const auto gradients = [&f, n](const variable_list& args) {
    const variable_list x(args.begin(), args.begin() + static_cast<ptrdiff_t>(n));
    const variable_list seeds(args.begin() + static_cast<ptrdiff_t>(n), args.end());
    return grad(differentiable(f(x)), differentiable(x), seeds, true, true, true);
  };
  return gradcheck(gradients, all, options);
}

}  // namespace shunt::autograd
