// Which operator computes what another one writes, and which one puts a view's part back: found by comparing schemas,
// so that operators of other libraries have these forms too. Any thread; each keeps what it has found.
#pragma once

#include <shunt/core/op_state.h>

#include <optional>
#include <vector>

namespace shunt::functional {

/// `add` for `add_` and `add.out`: an operator of the same name that writes nothing, with the same arguments but out=
/// ones.
//
// Note [Results of functional forms]
// A form has a result for each argument that the other operator writes, in the arguments' order, also where that one
// returns only some of them. Before, or between, stand results that are no arguments, in the places that they have
// there: (Tensor x, Tensor(a!) sum) -> (Tensor, Tensor(a!)) has a form -> (Tensor, Tensor), and (Tensor(a!) x) ->
// Tensor one whose second result is x. Where the results' names are those of the arguments, they decide. An operator
// that returns what it writes in another order than its arguments, and whose form names nothing, could mean either.
struct FunctionalForm {
  OperatorHandle op;
  std::vector<int> from;  // for each of its arguments the position among the other's; -1: dtype, layout, device,
                          // pin_memory of a factory
  bool is_view;           // transpose for transpose_: changes what the tensor is, not what it holds
  // Note [Results of functional forms]; empty where they could be either.
  std::vector<int> of_argument;  // for each of the other's arguments, which result is its new value; -1: not written
  std::vector<int> of_return;    // for each of its results, which one it is; -1: a view of a written argument
};
/// Null when there is none; good until the next call on this thread. Looks in the operator's namespace, then in
/// "functional" (functional_ops.cpp).
const FunctionalForm* functionalForm(const OperatorHandle& op);

/// slice_scatter for slice: <name>_scatter with the view's arguments and the part after the first.
std::optional<OperatorHandle> scatterOf(const OperatorHandle& view);

}  // namespace shunt::functional
