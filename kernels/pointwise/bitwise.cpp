// Bitwise operators of a number and a tensor.
#include "generated/native_functions.h"
#include "kernels/common/view_util.h"

namespace shunt::native {
namespace {

Tensor numberBeside(const char* op, const Scalar& self, const Tensor& other) {
  implOf(other, op, "other");  // must be defined
  return wrapped_scalar_tensor(self);
}

}  // namespace

Tensor bitwise_and_scalar_tensor(const Scalar& self, const Tensor& other) {
  return ops::bitwise_and_Tensor::call(numberBeside("bitwise_and", self, other), other);
}
Tensor bitwise_or_scalar_tensor(const Scalar& self, const Tensor& other) {
  return ops::bitwise_or_Tensor::call(numberBeside("bitwise_or", self, other), other);
}
Tensor bitwise_xor_scalar_tensor(const Scalar& self, const Tensor& other) {
  return ops::bitwise_xor_Tensor::call(numberBeside("bitwise_xor", self, other), other);
}

}  // namespace shunt::native
