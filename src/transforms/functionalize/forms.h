// Which operator computes what another one writes, and which one puts a view's part back: found by comparing schemas,
// so that operators of other libraries have these forms too. Any thread; each keeps what it has found.
#pragma once

#include <shunt/core/op_state.h>

#include <optional>
#include <vector>

namespace shunt::functional {

/// `add` for `add_` and `add.out`: an operator of the same name that writes nothing, with the same arguments but out=
/// ones.
struct FunctionalForm {
  OperatorHandle op;
  std::vector<int> from;  // for each of its arguments the position among the other's; -1: dtype, layout, device,
                          // pin_memory of a factory
  bool is_view;           // transpose for transpose_: changes what the tensor is, not what it holds
};
/// Null when there is none; good until the next call on this thread. Looks in the operator's namespace, then in
/// "functional" (functional_ops.cpp).
const FunctionalForm* functionalForm(const OperatorHandle& op);

/// slice_scatter for slice: <name>_scatter with the view's arguments and the part after the first.
std::optional<OperatorHandle> scatterOf(const OperatorHandle& view);

}  // namespace shunt::functional
