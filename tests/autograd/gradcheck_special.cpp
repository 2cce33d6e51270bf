// Gradcheck's cases of special.yaml's functions, each where it is smooth.
#include "tests/autograd/gradcheck_cases.h"

namespace shunt::test {
namespace {

template <class F>
GradcheckCase pair(const char* op, F f, double low = -2, double high = 2) {
  return {op, [=] { return variable_list{var({2, 3}, low, high, 1), var({3}, low, high, 2)}; },
          [f](const variable_list& x) { return variable_list{f(x[0], x[1])}; }};
}

void addTrigonometric(Cases& c) {
  c.push_back(unary("tan", [](const Tensor& x) { return x.tan(); }, -1, 1));
  c.push_back(unary("asin", [](const Tensor& x) { return x.asin(); }, -0.9, 0.9));
  c.push_back(unary("acos", [](const Tensor& x) { return x.acos(); }, -0.9, 0.9));
  c.push_back(unary("atan", [](const Tensor& x) { return x.atan(); }));
  c.push_back(unary("sinh", [](const Tensor& x) { return x.sinh(); }));
  c.push_back(unary("cosh", [](const Tensor& x) { return x.cosh(); }));
  c.push_back(unary("asinh", [](const Tensor& x) { return x.asinh(); }));
  c.push_back(unary("acosh", [](const Tensor& x) { return x.acosh(); }, 1.5, 3));
  c.push_back(unary("atanh", [](const Tensor& x) { return x.atanh(); }, -0.9, 0.9));
  c.push_back(unary("sinc", [](const Tensor& x) { return x.sinc(); }));
  c.push_back(unary("deg2rad", [](const Tensor& x) { return x.deg2rad().mul(x); }));
  c.push_back(unary("rad2deg", [](const Tensor& x) { return x.rad2deg().mul(x); }));
  c.push_back(pair("atan2", [](const Tensor& a, const Tensor& b) { return a.atan2(b); }, 0.5, 2));
  c.push_back(pair("hypot", [](const Tensor& a, const Tensor& b) { return a.hypot(b); }));
}

void addLogarithms(Cases& c) {
  c.push_back(unary("exp2", [](const Tensor& x) { return x.exp2(); }));
  c.push_back(unary("log2", [](const Tensor& x) { return x.log2(); }, 0.5, 3));
  c.push_back(unary("log10", [](const Tensor& x) { return x.log10(); }, 0.5, 3));
  c.push_back(pair("logaddexp", [](const Tensor& a, const Tensor& b) { return a.logaddexp(b); }));
  c.push_back(pair("logaddexp2", [](const Tensor& a, const Tensor& b) { return a.logaddexp2(b); }));
  c.push_back(unary("logit", [](const Tensor& x) { return x.logit(); }, 0.1, 0.9));
  c.push_back(unary("logit", [](const Tensor& x) { return x.logit(0.3); }, 0.1, 0.9));
  c.push_back(pair("xlogy.Tensor", [](const Tensor& a, const Tensor& b) { return a.xlogy(b); }, 0.5, 3));
  c.push_back(unary("erfc", [](const Tensor& x) { return x.erfc(); }));
  c.push_back(unary("lgamma", [](const Tensor& x) { return x.lgamma(); }, 0.5, 3));
  c.push_back(unary("digamma", [](const Tensor& x) { return x.digamma(); }, 0.5, 3));
  c.push_back(unary("polygamma", [](const Tensor& x) { return x.polygamma(1); }, 0.5, 3));
  c.push_back(unary("polygamma", [](const Tensor& x) { return x.polygamma(2); }, 0.5, 3));
  c.push_back(unary(
      "polygamma_",
      [](const Tensor& x) {
        Tensor y = x.clone();
        return y.polygamma_(1);
      },
      0.5, 3));
}

void addSelections(Cases& c) {
  c.push_back(pair("copysign.Tensor", [](const Tensor& a, const Tensor& b) { return a.copysign(b).mul(a); }));
  c.push_back(unary("copysign.Scalar", [](const Tensor& x) { return x.copysign(-2).mul(x); }));
  c.push_back(pair("nextafter", [](const Tensor& a, const Tensor& b) { return nextafter(a, b).mul(b); }));
  c.push_back(pair("fmax", [](const Tensor& a, const Tensor& b) { return fmax(a, b).mul(a); }));
  c.push_back(pair("fmin", [](const Tensor& a, const Tensor& b) { return fmin(a, b).mul(a); }));
  c.push_back(unary("frac", [](const Tensor& x) { return x.frac().mul(x); }));
  c.push_back(unary("nan_to_num", [](const Tensor& x) { return x.nan_to_num().mul(x); }));
}

}  // namespace

Cases specialCases() {
  Cases c;
  addTrigonometric(c);
  addLogarithms(c);
  addSelections(c);
  return c;
}

}  // namespace shunt::test
