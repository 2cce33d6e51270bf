// Why values differ where an operator leaves open what they are: words for a comparison's message, which lines of
// known_differences.txt ask for. Pure functions but for calls of runModel; one thread.
#pragma once

#include "tests/parity/case.h"

namespace parity {

/// `wrong`: the elements, in row-major order, in which the results `a` of Shunt and `b` of libtorch differ. `is_grad`:
/// they are gradients, of the case's tensor number `of`.
///   "equal elements"   of topk and sorts: others of the elements that are equal were taken, and nothing else differs
///   "below the square" of trace's gradient: only of rows beyond the number of columns
///   "of numbers alone" of binary_cross_entropy_with_logits: in float64 by no more than float32 rounds, and only as
///                      long as some operand is a number that became a tensor
///   "left as it was"   of cat.out and stack.out: libtorch's elements are what out= held, whose dimension has one
///                      element and a stride that is not the dense one; Shunt's are libtorch's without out=
///   "written twice"    of index_put: only at places that several values were written to, of which one is there
std::string causeOf(const Case& c, const TensorState& a, const TensorState& b, const std::vector<size_t>& wrong,
                    bool is_grad, size_t of);

}  // namespace parity
