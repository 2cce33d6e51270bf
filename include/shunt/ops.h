// Operators as functions (shunt::add, shunt::matmul, ..., generated from the dictionary) and as C++ operators.
//
// Arithmetic between tensors and numbers follows PyTorch:
// - A number doesn't raise a tensor's dtype within its category.
// - A number on the left of -, / or % is first converted to the tensor's dtype, as by libtorch's C++ operators and
//   unlike in Python: 2.5 - longs gives longs, and 1.0 / longs throws.
// Any thread may call the functions. Callers synchronise access to a tensor.
#pragma once

#include <shunt/core/reduction.h>
#include <shunt/generated/functions.h>

#include <concepts>
#include <tuple>

namespace shunt {

namespace detail {
/// `number` as the left operand, in the dtype of `other`. Throws if the dtype can't hold it, or isn't a floating-point
/// one and `name`, the operator's, is "div".
SHUNT_API Tensor left_operand(const char* name, const Scalar& number, const Tensor& other);
}  // namespace detail

// Tensor op Tensor, Tensor op Scalar, Scalar op Tensor. Doxygen would take the macro's uses for functions.
// @cond MACRO
#define SHUNT_BINARY_OPERATOR(symbol, tensor_tensor, tensor_scalar, scalar_tensor)          \
  inline Tensor operator symbol(const Tensor& a, const Tensor& b) { return tensor_tensor; } \
  inline Tensor operator symbol(const Tensor& a, const Scalar& b) { return tensor_scalar; } \
  inline Tensor operator symbol(const Scalar& a, const Tensor& b) { return scalar_tensor; }

SHUNT_BINARY_OPERATOR(+, a.add(b), a.add(b), b.add(a))
SHUNT_BINARY_OPERATOR(*, a.mul(b), a.mul(b), b.mul(a))
SHUNT_BINARY_OPERATOR(-, a.sub(b), a.sub(b), detail::left_operand("sub", a, b).sub(b))
SHUNT_BINARY_OPERATOR(/, a.div(b), a.div(b), detail::left_operand("div", a, b).div(b))
SHUNT_BINARY_OPERATOR(%, a.remainder(b), a.remainder(b), detail::left_operand("remainder", a, b).remainder(b))
SHUNT_BINARY_OPERATOR(==, a.eq(b), a.eq(b), b.eq(a))
SHUNT_BINARY_OPERATOR(!=, a.ne(b), a.ne(b), b.ne(a))
SHUNT_BINARY_OPERATOR(<, a.lt(b), a.lt(b), b.gt(a))
SHUNT_BINARY_OPERATOR(<=, a.le(b), a.le(b), b.ge(a))
SHUNT_BINARY_OPERATOR(>, a.gt(b), a.gt(b), b.lt(a))
SHUNT_BINARY_OPERATOR(>=, a.ge(b), a.ge(b), b.le(a))
SHUNT_BINARY_OPERATOR(&, a.bitwise_and(b), a.bitwise_and(b), b.bitwise_and(a))
SHUNT_BINARY_OPERATOR(|, a.bitwise_or(b), a.bitwise_or(b), b.bitwise_or(a))
SHUNT_BINARY_OPERATOR(^, a.bitwise_xor(b), a.bitwise_xor(b), b.bitwise_xor(a))
#undef SHUNT_BINARY_OPERATOR
// @endcond

/// Over one dimension. This overload keeps `dim` from converting to the bool of var(self, unbiased).
template <std::signed_integral Dim>
Tensor var(const Tensor& self, Dim dim) {
  return var(self, IntArrayRef(int64_t{dim}));
}
/// Over one dimension; see var.
template <std::signed_integral Dim>
Tensor std(const Tensor& self, Dim dim) {
  return std(self, IntArrayRef(int64_t{dim}));
}
/// Over one dimension.
template <std::signed_integral Dim>
std::tuple<Tensor, Tensor> var_mean(const Tensor& self, Dim dim) {
  return var_mean(self, IntArrayRef(int64_t{dim}));
}
/// Over one dimension.
template <std::signed_integral Dim>
std::tuple<Tensor, Tensor> std_mean(const Tensor& self, Dim dim) {
  return std_mean(self, IntArrayRef(int64_t{dim}));
}

inline Tensor Tensor::operator-() const { return neg(); }
inline Tensor Tensor::operator~() const { return bitwise_not(); }

}  // namespace shunt
