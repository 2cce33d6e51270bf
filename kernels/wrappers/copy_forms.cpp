#include "kernels/wrappers/copy_forms.h"

#include <shunt/core/annotate.h>

namespace shunt::wrappers {

namespace {
void checkCast(const char* op, const Tensor& target, const Tensor& result) {
  SHUNT_CHECK(target.device() == result.device(), op, ": expected out tensor to be on ", result.device(), ", but got ",
              target.device());
  SHUNT_CHECK(canCast(result.scalar_type(), target.scalar_type()), op, ": result type ", result.scalar_type(),
              " can't be cast to the desired output type ", target.scalar_type());
}
}  // namespace

SHUNT_ANNOTATE("wrapper")
Tensor& copyToOut(const char* op, Tensor& out, const Tensor& result) {
  SHUNT_CHECK(!out.defined() || out.scalar_type() == result.scalar_type(), op, ": Expected out tensor to have dtype ",
              result.scalar_type(), ", but got ", out.scalar_type(), " instead");
  return castToOut(op, out, result);
}

SHUNT_ANNOTATE("wrapper")
Tensor& castToOut(const char* op, Tensor& out, const Tensor& result) {
  SHUNT_CHECK(out.defined(), op, ": out is an undefined tensor");
  checkCast(op, out, result);
  if (!(out.sizes() == result.sizes())) out.resize_(result.sizes());
  return out.copy_(result);
}

Tensor& copyInplace(const char* op, Tensor& self, const Tensor& result) {
  checkCast(op, self, result);
  SHUNT_CHECK(self.sizes() == result.sizes(), op, ": output with shape ", self.sizes(),
              " doesn't match the result's shape ", result.sizes());
  return self.copy_(result);
}

}  // namespace shunt::wrappers
