// isclose, allclose and equal: comparisons that are made of other operators. The last two read the answer.
#include "generated/native_functions.h"
#include "kernels/common/view_util.h"

#include <shunt/ops.h>

namespace shunt::native {

Tensor isclose(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan) {
  const ScalarType dtype = implOf(self, "isclose").dtype();
  SHUNT_CHECK(dtype == implOf(other, "isclose", "other").dtype(), dtype, " did not match ", other.scalar_type());
  SHUNT_CHECK(rtol >= 0, "rtol must be greater than or equal to zero, but got ", rtol);
  SHUNT_CHECK(atol >= 0, "atol must be greater than or equal to zero, but got ", atol);
  Tensor close = shunt::eq(self, other);
  if (equal_nan && self.is_floating_point())
    close = shunt::logical_or(close, shunt::logical_and(shunt::ne(self, self), shunt::ne(other, other)));
  if (rtol == 0 && atol == 0) return close;
  // The difference of unsigned integers would wrap around, so one side is made floating first.
  const bool integral = isIntegralType(dtype, true);
  const Tensor wanted = integral ? other.to(get_default_dtype()) : other;
  const Tensor got = dtype == kBool ? self.to(get_default_dtype()) : self;
  const Tensor allowed = shunt::add(shunt::abs(shunt::mul(wanted, rtol)), atol);
  const Tensor error = shunt::abs(shunt::sub(got, wanted));
  return shunt::logical_or(close, shunt::logical_and(shunt::isfinite(error), shunt::le(error, allowed)));
}

bool allclose(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan) {
  return shunt::all(shunt::isclose(self, other, rtol, atol, equal_nan)).item<bool>();
}

bool equal(const Tensor& self, const Tensor& other) {
  const TensorImpl &a = implOf(self, "equal"), &b = implOf(other, "equal", "other");
  SHUNT_CHECK(a.device() == b.device(), "Cannot compare two tensors on different devices. Got: ", a.device(), " and ",
              b.device());
  if (a.sizes() != b.sizes()) return false;
  return shunt::all(shunt::eq(self, other)).item<bool>();
}

Tensor true_divide(const Tensor& self, const Tensor& other) { return shunt::div(self, other); }
Tensor true_divide_scalar(const Tensor& self, const Scalar& other) { return shunt::div(self, other); }
Tensor& true_divide_(Tensor& self, const Tensor& other) { return self.div_(other); }
Tensor& true_divide__scalar(Tensor& self, const Scalar& other) { return self.div_(other); }
Tensor& true_divide_out(const Tensor& self, const Tensor& other, Tensor& out) {
  return shunt::div_out(out, self, other);
}

}  // namespace shunt::native
