// What differs between the two libraries' outcomes of one case. Pure functions.
#pragma once

#include "tests/parity/case.h"

#include <string>
#include <string_view>
#include <vector>

namespace parity {

struct Difference {
  /// One word, by which known differences name it: values, dtype, sizes, strides (idle_strides: of dimensions of one
  /// element and of empty tensors, which have an idle_offset too), requires_grad, grad_fn, alias, version, shunt_throws
  /// (libtorch doesn't), torch_throws, shunt_backward_throws, message (both throw, for different reasons),
  /// backward_message, after_values (of an argument), grad_values, ... Where every element that differs is NaN, or
  /// infinite, in one library only: torch_nan_values, shunt_inf_values, grad_torch_nan_values, ...
  std::string what;
  std::string detail;
};

/// How far values may be apart. The one table is in tolerances.cpp.
struct Tolerance {
  std::string_view op = "*";
  /// Units in the last place of the result's dtype; 0 is bit for bit, NaN equal to NaN. Denormals equal each other and
  /// 0 unless it is 0.
  double forward = 0, backward = 4;
  /// The unit is that of the result's largest element, since sums cancel; where operators add up many terms
  /// (kAccumulates), or `cancels`, that of the largest possible term in float32 is added. Gradients are sums always.
  bool sums = false;
  /// Small integers must give the same bits all the same (float32 and float64).
  bool exact_on_integers = true;
  /// Made of operators that take one operand each, so that a result of a wide dtype is as exact as the narrowest
  /// operand.
  bool stepwise = false;
  /// Its terms may cancel in a result of one element too.
  bool cancels = false;
  /// Units in the last place of the result's dtype by which each term of a gradient may be rounded, before terms of up
  /// to 3 cancel.
  double rounded_terms = 0;
  /// Units in the last place of 1, times the operator's numbers: of what is subtracted from 1.
  double of_one = 0;
};
const Tolerance& toleranceFor(std::string_view name, std::string_view overload);

std::vector<Difference> compareOutcomes(const Case& c, const Outcome& shunt, const Outcome& torch);

}  // namespace parity
