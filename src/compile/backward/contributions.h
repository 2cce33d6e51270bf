// A backward pass whose gradients come one by one, before they are added up: what each way from a result to a leaf
// gives. For the thread that owns the result's history: nobody else may run through it meanwhile.
#pragma once

#include <shunt/core/function_ref.h>
#include <shunt/tensor/tensor.h>

#include <span>

namespace shunt::compiled {

/// `leaf`: its number. The gradient fits the leaf; it is undefined where a way gives none.
using ContributionFn = FunctionRef<void(size_t leaf, Tensor&& gradient)>;

/// Runs backward from `result`, whose gradient is `gradient`, and calls `each` for every edge that leads to one of the
/// `leaves` (or to the grad_fn of one that is none), in the order in which a backward pass would add to it. What the
/// history has saved stays. Throws Error where the history leads to a leaf that isn't among these.
void contributionsOf(const Tensor& result, const Tensor& gradient, std::span<const Tensor> leaves, bool create_graph,
                     ContributionFn each);

/// The same where the engine adds up what comes to a leaf: calls `each` once for each one that gets anything. Neither
/// of them goes on behind a leaf that has a history.
void gradientsOf(const Tensor& result, const Tensor& gradient, std::span<const Tensor> leaves, ContributionFn each);

}  // namespace shunt::compiled
