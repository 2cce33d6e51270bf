// Operators as functions (shunt::add, shunt::matmul, ...: generated from the dictionary) and as C++ operators.
//
// Arithmetic between tensors and numbers follows PyTorch: a number does not raise a tensor's dtype within its category.
// A number on the left of -, / and % takes the tensor's dtype first, as in libtorch's C++ operators, which aren't
// Python's there: 2.5 - longs gives longs, and 1.0 / longs is an error.
// Functions may be called from any thread; tensors are the caller's to synchronise.
#pragma once

#include <shunt/core/reduction.h>
#include <shunt/generated/functions.h>

#include <concepts>
#include <tuple>

namespace shunt {

namespace detail {
/// `number` as an operand on the left of `other`. Throws where `other`'s dtype can't hold it. `name`: the operator's.
SHUNT_API Tensor left_operand(const char* name, const Scalar& number, const Tensor& other);
}  // namespace detail

// Tensor op Tensor, Tensor op Scalar, Scalar op Tensor.
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

// Over one dimension. (A number could also be var(self, unbiased), as it converts to bool.)
template <std::signed_integral Dim>
Tensor var(const Tensor& self, Dim dim) {
  return var(self, IntArrayRef(int64_t{dim}));
}
/// Over one dimension. (A number could also be std(unbiased), as it converts to bool.)
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
