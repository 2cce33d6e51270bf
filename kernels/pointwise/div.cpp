// div with a rounding mode.
#include "generated/native_functions.h"
#include "kernels/pointwise/run.h"

namespace shunt::native {
namespace {

/// Calls `f` with the functor of a rounding mode.
template <class F>
decltype(auto) withMode(std::optional<std::string_view> mode, F f) {
  if (!mode) return f(functors::Div());
  if (*mode == "trunc") return f(functors::DivTrunc());
  SHUNT_CHECK(*mode == "floor", "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '", *mode,
              "'");
  return f(functors::DivFloor());
}

template <class Other>
Tensor divNew(const Tensor& self, const Other& other, std::optional<std::string_view> mode) {
  return withMode(mode, [&]<class F>(F) { return elementwise::run<F>("div", self, other); });
}
template <class Other>
Tensor& divOut(const Tensor& self, const Other& other, std::optional<std::string_view> mode, Tensor& out) {
  withMode(mode, [&]<class F>(F) { elementwise::runOut<F>("div", out, self, other); });
  return out;
}
template <class Other>
Tensor& divInplace(Tensor& self, const Other& other, std::optional<std::string_view> mode) {
  withMode(mode, [&]<class F>(F) { elementwise::runInplace<F>("div_", self, other); });
  return self;
}

}  // namespace

Tensor div_mode(const Tensor& self, const Tensor& other, std::optional<std::string_view> rounding_mode) {
  return divNew(self, other, rounding_mode);
}
Tensor& div__mode(Tensor& self, const Tensor& other, std::optional<std::string_view> rounding_mode) {
  return divInplace(self, other, rounding_mode);
}
Tensor& div_out_mode(const Tensor& self, const Tensor& other, std::optional<std::string_view> rounding_mode,
                     Tensor& out) {
  return divOut(self, other, rounding_mode, out);
}

Tensor div_scalar_mode(const Tensor& self, const Scalar& other, std::optional<std::string_view> rounding_mode) {
  return divNew(self, other, rounding_mode);
}
Tensor& div__scalar_mode(Tensor& self, const Scalar& other, std::optional<std::string_view> rounding_mode) {
  return divInplace(self, other, rounding_mode);
}

}  // namespace shunt::native
