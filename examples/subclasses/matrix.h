// Matrices that are never formed: products are computed from what describes them, and counted as they are done.
#pragma once

#include "examples/modes/flops.h"

#include <shunt/interpose/tensor_subclass.h>

namespace examples {

/// What the two below have in common: which operators multiply a matrix by what.
class StructuredMatrix : public shunt::TensorSubclass {
 public:
  /// A @ x and x @ A for a plain matrix x.
  virtual shunt::Tensor timesRight(const shunt::Tensor& x) const = 0;
  virtual shunt::Tensor timesLeft(const shunt::Tensor& x) const = 0;

  void handle(const shunt::OperatorHandle& op, shunt::Stack* stack) override {
    const shunt::DispatchModeGuard count(flops);
    const std::string name = op.operator_name().name;
    const bool linear = name == "aten::linear";
    SHUNT_CHECK(linear || name == "aten::mm" || name == "aten::matmul", this->name(),
                ": there is no rule for operator ", op.operator_name(), ", only for mm, matmul and linear");
    const shunt::Tensor a = (*stack)[0].toTensor(), b = (*stack)[1].toTensor();
    const auto* left = shunt::wrapper_cast<StructuredMatrix>(a);
    const auto* right = shunt::wrapper_cast<StructuredMatrix>(b);
    SHUNT_CHECK(
        (left == nullptr) != (right == nullptr) && (left == nullptr ? a : b).dim() == 2 && !(linear && left != nullptr),
        this->name(), ": expected a plain matrix for the other factor of ", op.operator_name());
    shunt::Tensor product = left != nullptr ? left->timesRight(b)
                            : linear        ? right->timesRight(a.t()).t()
                                            : right->timesLeft(a);
    if (linear && (*stack)[2].isTensor() && (*stack)[2].toTensor().defined())
      product = product + (*stack)[2].toTensor();
    *stack = {product};
  }

  static inline FlopMode flops;

 protected:
  StructuredMatrix(int64_t rows, int64_t columns, const shunt::TensorOptions& options)
      : TensorSubclass({rows, columns}, options) {}
};

/// U V, for U of shape (rows, rank) and V of shape (rank, columns).
class LowRankTensor : public StructuredMatrix {
 public:
  LowRankTensor(const shunt::Tensor& u, const shunt::Tensor& v)
      : StructuredMatrix(u.size(0), v.size(1), u.options()), u_(u), v_(v) {}
  shunt::Tensor timesRight(const shunt::Tensor& x) const override { return u_.mm(v_.mm(x)); }
  shunt::Tensor timesLeft(const shunt::Tensor& x) const override { return x.mm(u_).mm(v_); }

 private:
  shunt::Tensor u_, v_;
};

/// `diagonal` on the diagonal, zeros elsewhere.
class DiagonalTensor : public StructuredMatrix {
 public:
  explicit DiagonalTensor(const shunt::Tensor& diagonal)
      : StructuredMatrix(diagonal.size(0), diagonal.size(0), diagonal.options()), diagonal_(diagonal) {}
  shunt::Tensor timesRight(const shunt::Tensor& x) const override { return diagonal_.unsqueeze(1) * x; }
  shunt::Tensor timesLeft(const shunt::Tensor& x) const override { return x * diagonal_; }

 private:
  shunt::Tensor diagonal_;
};

}  // namespace examples
