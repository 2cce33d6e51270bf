// Gradcheck's cases of arithmetic, with operands of one shape and broadcast ones.
#include "tests/autograd/gradcheck_cases.h"

namespace shunt::test {
namespace {

/// Same shape, and each operand broadcast.
template <class F>
void binary(Cases& cases, const char* op, F f, double low = -2, double high = 2) {
  const auto wrapped = [f](const variable_list& x) { return variable_list{f(x[0], x[1])}; };
  cases.push_back({op, [=] { return variable_list{var({2, 3}, low, high, 1), var({2, 3}, low, high, 2)}; }, wrapped});
  cases.push_back(
      {op, [=] { return variable_list{var({2, 1, 2}, low, high, 3), var({3, 1}, low, high, 4)}; }, wrapped});
  cases.push_back({op, [=] { return variable_list{var({}, low, high, 5), var({2}, low, high, 6)}; }, wrapped});
}

/// f(a clone, ...): in-place forms need an operand that is no leaf.
template <class F>
void inplace(Cases& cases, const char* op, F f, double low = -2, double high = 2, bool second = true) {
  cases.push_back({op, [=] { return variable_list{var({2, 3}, low, high, 1), var({3}, low, high, 2)}; },
                   [f](const variable_list& x) {
                     Tensor y = x[0].clone();
                     f(y, x[1]);
                     return variable_list{y, x[1].mul(x[0])};
                   },
                   second});
}

void addArithmetic(Cases& c) {
  binary(c, "add.Tensor", [](const Tensor& a, const Tensor& b) { return a.add(b, 1.5); });
  binary(c, "sub.Tensor", [](const Tensor& a, const Tensor& b) { return a.sub(b, 2); });
  binary(c, "mul.Tensor", [](const Tensor& a, const Tensor& b) { return a.mul(b); });
  binary(c, "div.Tensor", [](const Tensor& a, const Tensor& b) { return a.div(b); }, 0.5, 3);
  binary(c, "div.Tensor_mode", [](const Tensor& a, const Tensor& b) { return a.div(b, "floor").add(a); }, 0.5, 3);
  binary(c, "maximum", [](const Tensor& a, const Tensor& b) { return maximum(a, b); });
  binary(c, "minimum", [](const Tensor& a, const Tensor& b) { return minimum(a, b); });
  binary(c, "pow.Tensor_Tensor", [](const Tensor& a, const Tensor& b) { return a.pow(b); }, 0.5, 2);
  binary(c, "rsub.Tensor", [](const Tensor& a, const Tensor& b) { return rsub(a, b, 2); });
  c.push_back(unary("rsub.Scalar", [](const Tensor& x) { return rsub(x, 2.5, 3); }));
  c.push_back(unary("add.Scalar", [](const Tensor& x) { return x.add(2, 3); }));
  c.push_back(unary("sub.Scalar", [](const Tensor& x) { return x.sub(2); }));
  c.push_back(unary("mul.Scalar", [](const Tensor& x) { return x.mul(2.5); }));
  c.push_back(unary("div.Scalar", [](const Tensor& x) { return x.div(2.5); }));
  c.push_back(unary("div.Scalar_mode", [](const Tensor& x) { return x.div(2.5, "trunc").add(x); }));
  c.push_back(unary("neg", [](const Tensor& x) { return x.neg(); }));
  c.push_back(unary("abs", [](const Tensor& x) { return x.abs(); }));
}

// Steps have no slope: what is added to them has.
void addRounding(Cases& c) {
  c.push_back(unary("sign", [](const Tensor& x) { return x.sign().add(x); }));
  c.push_back(unary("floor", [](const Tensor& x) { return x.floor().add(x); }));
  c.push_back(unary("ceil", [](const Tensor& x) { return x.ceil().add(x); }));
  c.push_back(unary("round", [](const Tensor& x) { return x.round().add(x); }));
  c.push_back(unary("trunc", [](const Tensor& x) { return x.trunc().add(x); }));
  c.push_back(unary("remainder.Scalar", [](const Tensor& x) { return x.remainder(0.7).add(x); }));
  c.push_back(unary("fmod.Scalar", [](const Tensor& x) { return x.fmod(0.7).add(x); }));
  const auto moduli = [] { return variable_list{leaf({7.3, -5.2, 3.1}), leaf({2.0, 3.0, 1.3})}; };
  c.push_back({"remainder.Tensor", moduli, [](const variable_list& x) { return variable_list{x[0].remainder(x[1])}; }});
  c.push_back({"fmod.Tensor", moduli, [](const variable_list& x) { return variable_list{x[0].fmod(x[1])}; }});
}

void addPowers(Cases& c) {
  c.push_back(unary("pow.Tensor_Scalar", [](const Tensor& x) { return x.pow(3); }));
  c.push_back(unary("pow.Tensor_Scalar", [](const Tensor& x) { return x.pow(0.5); }, 0.5, 2));
  c.push_back(unary("pow.Tensor_Scalar", [](const Tensor& x) { return x.pow(0).add(x); }));
  c.push_back(unary("pow.Tensor_Scalar", [](const Tensor& x) { return x.pow(1); }));
  c.push_back(unary("pow.Scalar", [](const Tensor& x) { return pow(2.5, x); }));
  c.push_back(unary("pow.Scalar", [](const Tensor& x) { return pow(0, x).add(x); }, 0.5, 2));
  c.push_back(
      {"pow.Tensor_Tensor", [] { return variable_list{leaf({0.5, 1.5}), leaf({2, 0.5})}; },
       [](const variable_list& x) { return variable_list{x[0].sub(x[0].detach()).pow(x[1].add(2))}; }});  // of 0
  c.push_back(unary("expm1", [](const Tensor& x) { return x.expm1(); }));
  c.push_back(unary("log1p", [](const Tensor& x) { return x.log1p(); }, -0.5, 2));
  c.push_back(unary("exp", [](const Tensor& x) { return x.exp(); }));
  c.push_back(unary("log", [](const Tensor& x) { return x.log(); }, 0.5, 3));
  c.push_back(unary("sqrt", [](const Tensor& x) { return x.sqrt(); }, 0.5, 3));
  c.push_back(unary("rsqrt", [](const Tensor& x) { return x.rsqrt(); }, 0.5, 3));
  c.push_back(unary("reciprocal", [](const Tensor& x) { return x.reciprocal(); }, 0.5, 3));
  c.push_back(unary("sin", [](const Tensor& x) { return x.sin(); }));
  c.push_back(unary("cos", [](const Tensor& x) { return x.cos(); }));
  c.push_back(unary("erf", [](const Tensor& x) { return x.erf(); }));
}

void addSelections(Cases& c) {
  c.push_back(unary("clamp", [](const Tensor& x) { return x.clamp(-1, 0.75); }));
  c.push_back(unary("clamp", [](const Tensor& x) { return x.clamp(std::nullopt, 0.75); }));
  c.push_back(unary("clamp", [](const Tensor& x) { return x.clamp(-1); }));
  c.push_back(unary("clamp_min", [](const Tensor& x) { return x.clamp_min(0.25); }));
  c.push_back(unary("clamp_max", [](const Tensor& x) { return x.clamp_max(0.25); }));
  c.push_back({"clamp.Tensor",
               [] { return variable_list{var({2, 3}, -2, 2, 1), var({3}, -1.5, 0.5, 2), var({2, 3}, -0.5, 1.5, 3)}; },
               [](const variable_list& x) { return variable_list{x[0].clamp(x[1], x[2])}; }});
  c.push_back({"clamp.Tensor", [] { return variable_list{var({2, 3}, -2, 2, 1), var({3}, -1, 1, 2)}; },
               [](const variable_list& x) { return variable_list{x[0].clamp(std::nullopt, x[1])}; }});
  binary(c, "clamp_min.Tensor", [](const Tensor& a, const Tensor& b) { return a.clamp_min(b); });
  binary(c, "clamp_max.Tensor", [](const Tensor& a, const Tensor& b) { return a.clamp_max(b); });
  c.push_back(unary("masked_fill.Scalar", [](const Tensor& x) { return x.masked_fill(x.gt(0), 3); }));
  c.push_back({"masked_fill.Tensor",
               [] { return variable_list{var({2, 3}), leaf({2}).detach().select(0, 0).clone().requires_grad_()}; },
               [](const variable_list& x) { return variable_list{x[0].masked_fill(x[0].gt(0), x[1])}; }});
  binary(c, "where.self", [](const Tensor& a, const Tensor& b) { return where(a.gt(0), a, b); });
  // By another factor than one its gradient isn't its derivative: that is what it is for.
  c.push_back(unary("_scale_gradient", [](const Tensor& x) { return _scale_gradient(x, ones_like(x)); }));
}

void addTernary(Cases& c) {
  const auto inputs = [] { return variable_list{var({2, 3}, -2, 2, 1), var({3}, -2, 2, 2), var({2, 1}, 0.5, 2, 3)}; };
  c.push_back({"addcmul", inputs, [](const variable_list& x) { return variable_list{x[0].addcmul(x[1], x[2], 1.5)}; }});
  c.push_back({"addcdiv", inputs, [](const variable_list& x) { return variable_list{x[0].addcdiv(x[1], x[2], 1.5)}; }});
  c.push_back({"lerp.Tensor", inputs, [](const variable_list& x) { return variable_list{x[0].lerp(x[1], x[2])}; }});
  binary(c, "lerp.Scalar", [](const Tensor& a, const Tensor& b) { return a.lerp(b, 0.3); });
}

void addInplace(Cases& c) {
  inplace(c, "add_.Tensor", [](Tensor& y, const Tensor& w) { y.add_(w, 2); });
  inplace(c, "sub_.Tensor", [](Tensor& y, const Tensor& w) { y.sub_(w); });
  inplace(c, "mul_.Tensor", [](Tensor& y, const Tensor& w) { y.mul_(w); });
  inplace(c, "div_.Tensor", [](Tensor& y, const Tensor& w) { y.div_(w); }, 0.5, 2);
  inplace(c, "pow_.Tensor", [](Tensor& y, const Tensor& w) { y.pow_(w); }, 0.5, 2);
  inplace(c, "pow_.Scalar", [](Tensor& y, const Tensor&) { y.pow_(3); });
  inplace(c, "leaky_relu_", [](Tensor& y, const Tensor&) { leaky_relu_(y, 0.2); });
  inplace(c, "hardtanh_", [](Tensor& y, const Tensor&) { hardtanh_(y, -0.9, 1.1); });
  inplace(c, "threshold_", [](Tensor& y, const Tensor&) { threshold_(y, 0.1, -3); });
  inplace(c, "masked_fill_.Scalar", [](Tensor& y, const Tensor&) { y.masked_fill_(y.gt(0), 3); });
  inplace(c, "exp_", [](Tensor& y, const Tensor&) { y.exp_(); });
  inplace(c, "sigmoid_", [](Tensor& y, const Tensor&) { y.sigmoid_(); });
  inplace(c, "tanh_", [](Tensor& y, const Tensor&) { y.tanh_(); });
  inplace(c, "relu_", [](Tensor& y, const Tensor&) { y.relu_(); });
  inplace(c, "sqrt_", [](Tensor& y, const Tensor&) { y.sqrt_(); }, 0.5, 2);
  inplace(c, "addcmul_", [](Tensor& y, const Tensor& w) { y.addcmul_(w, w, 2); });
  inplace(c, "lerp_.Scalar", [](Tensor& y, const Tensor& w) { y.lerp_(w, 0.25); });
  inplace(c, "copy_", [](Tensor& y, const Tensor& w) { y.copy_(w); });
  inplace(c, "fill_.Scalar", [](Tensor& y, const Tensor&) { y.fill_(3); });
  inplace(c, "fill_.Tensor", [](Tensor& y, const Tensor& w) { y.fill_(w.select(0, 1)); });
  inplace(c, "zero_", [](Tensor& y, const Tensor&) { y.zero_(); });
  inplace(c, "clamp_", [](Tensor& y, const Tensor&) { y.clamp_(-1, 1); });
}

// Old values are overwritten with 0 and 1, or with random numbers.
void addOverwriting(Cases& c) {
  const auto numbers = [&](const char* op, auto f) { inplace(c, op, f); };
  numbers("eq_.Tensor", [](Tensor& y, const Tensor& w) { y.eq_(w); });
  numbers("eq_.Scalar", [](Tensor& y, const Tensor&) { y.eq_(1); });
  numbers("ne_.Tensor", [](Tensor& y, const Tensor& w) { y.ne_(w); });
  numbers("ne_.Scalar", [](Tensor& y, const Tensor&) { y.ne_(1); });
  numbers("lt_.Tensor", [](Tensor& y, const Tensor& w) { y.lt_(w); });
  numbers("lt_.Scalar", [](Tensor& y, const Tensor&) { y.lt_(1); });
  numbers("le_.Tensor", [](Tensor& y, const Tensor& w) { y.le_(w); });
  numbers("le_.Scalar", [](Tensor& y, const Tensor&) { y.le_(1); });
  numbers("gt_.Tensor", [](Tensor& y, const Tensor& w) { y.gt_(w); });
  numbers("gt_.Scalar", [](Tensor& y, const Tensor&) { y.gt_(1); });
  numbers("ge_.Tensor", [](Tensor& y, const Tensor& w) { y.ge_(w); });
  numbers("ge_.Scalar", [](Tensor& y, const Tensor&) { y.ge_(1); });
  numbers("logical_and_", [](Tensor& y, const Tensor& w) { y.logical_and_(w); });
  numbers("logical_or_", [](Tensor& y, const Tensor& w) { y.logical_or_(w); });
  numbers("logical_xor_", [](Tensor& y, const Tensor& w) { y.logical_xor_(w); });
  numbers("logical_not_", [](Tensor& y, const Tensor&) { y.logical_not_(); });
  const auto random = [&](const char* op, auto f) {
    numbers(op, [f](Tensor& y, const Tensor& w) {
      f(y, w);
      y.mul_(0);
    });
  };
  random("uniform_", [](Tensor& y, const Tensor&) { y.uniform_(); });
  random("normal_", [](Tensor& y, const Tensor&) { y.normal_(); });
  random("random_", [](Tensor& y, const Tensor&) { y.random_(); });
  random("random_.from", [](Tensor& y, const Tensor&) { y.random_(1, 5); });
  random("random_.to", [](Tensor& y, const Tensor&) { y.random_(5); });
  random("bernoulli_.float", [](Tensor& y, const Tensor&) { y.bernoulli_(0.5); });
  random("bernoulli_.Tensor", [](Tensor& y, const Tensor& w) { y.bernoulli_(w.sigmoid().select(0, 0)); });
  random("bernoulli.Tensor", [](Tensor& y, const Tensor& w) { y.copy_(bernoulli(w, w.sigmoid().select(0, 0))); });
  random("bernoulli", [](Tensor& y, const Tensor& w) { y.copy_(w.sigmoid().bernoulli()); });
  random("bernoulli.p", [](Tensor& y, const Tensor& w) { y.copy_(w.bernoulli(0.5)); });
}

}  // namespace

Cases elementwiseCases() {
  Cases c;
  addArithmetic(c);
  addRounding(c);
  addPowers(c);
  addSelections(c);
  addTernary(c);
  addInplace(c);
  addOverwriting(c);
  return c;
}

}  // namespace shunt::test
