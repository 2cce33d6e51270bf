// A backward pass whose gradients come one by one, before they are added up: what each way from a result to a leaf
// gives. For the thread that owns the results' history: nobody else may run through it meanwhile.
#pragma once

#include <shunt/core/function_ref.h>
#include <shunt/tensor/tensor.h>

#include <span>

namespace shunt::compiled {

/// `edge`: the number of the way, the same for each history of the same operators; `leaf`: the leaf's number. The
/// gradient fits the leaf; it is undefined where the way gives none.
using ContributionFn = FunctionRef<void(size_t edge, size_t leaf, Tensor&& gradient)>;

/// Runs backward from those of the `results` whose gradient is defined, and calls `each` for every edge by which that
/// comes to one of the `leaves` (or to the grad_fn of one that is none), in the order in which a backward pass would
/// add to it. What the history has saved stays. Returns how many edges lead to leaves from any result. Throws Error
/// where the history leads to a leaf that isn't among these.
size_t contributionsOf(std::span<const Tensor> results, std::span<const Tensor> gradients,
                       std::span<const Tensor> leaves, bool create_graph, ContributionFn each);

}  // namespace shunt::compiled
