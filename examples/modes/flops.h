// Counts floating-point operations: two for each product of a matrix product, one for each element otherwise.
#pragma once

#include "examples/modes/arguments.h"

#include <algorithm>
#include <map>

namespace examples {

class FlopMode : public shunt::DispatchMode {
 public:
  std::string name() const override { return "FlopMode"; }

  void handle(const shunt::OperatorHandle& op, shunt::Stack* stack) override {
    const int64_t terms = termsOfOneSum(op, *stack);
    const int64_t before = largest(*stack);
    const bool is_view = std::any_of(op.schema().returns().begin(), op.schema().returns().end(),
                                     [](const shunt::Argument& r) { return r.alias && !r.is_write(); });
    op.callBoxed(stack);
    if (terms > 0) {
      forEachTensor(*stack, [&](const shunt::Tensor& t) { flops += t.numel() * terms; });
    } else if (!is_view && before > 0) {
      flops += std::max(before, largest(*stack));  // of a sum over its argument, of a broadcast its result
    }
  }

  int64_t flops = 0;

 private:
  static int64_t largest(const shunt::Stack& stack) {
    int64_t n = 0;
    forEachTensor(stack, [&](const shunt::Tensor& t) { n = std::max(n, t.numel()); });
    return n;
  }

  /// For one element of a matrix product: a multiplication and an addition for each pair of factors, and an addition
  /// more where something is added to the product. 0 for other operators.
  static int64_t termsOfOneSum(const shunt::OperatorHandle& op, const shunt::Stack& stack) {
    struct Product {
      size_t left;  // the argument whose rows are multiplied
      bool adds;
    };
    static const std::map<std::string, Product> kProducts = {
        {"mm", {0, false}},     {"bmm", {0, false}},   {"mv", {0, false}},   {"dot", {0, false}},
        {"matmul", {0, false}}, {"linear", {0, true}}, {"addmm", {1, true}}, {"baddbmm", {1, true}},
    };
    std::string name = op.operator_name().name;
    name.erase(0, name.rfind(':') + 1);
    if (name.back() == '_') name.pop_back();
    const auto found = kProducts.find(name);
    if (found == kProducts.end()) return 0;
    const auto [left, adds] = found->second;
    const bool added = adds && (name != "linear" || (stack[2].isTensor() && stack[2].toTensor().defined()));
    return 2 * stack[left].toTensor().size(-1) + (added ? 1 : 0);
  }
};

}  // namespace examples
