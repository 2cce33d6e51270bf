// Forms that take a number for a tensor, as add.Scalar does: composites of the tensor's form, add.Tensor.
//
// An entry's `direct_while: add.Tensor` gives its forms a kernel for CompositeExplicitAutograd that wraps the number
// and calls add.Tensor, add_.Tensor or add's out form; the entry's other kernels stand in for that call exactly while
// the operator called has its built-in kernel for the key (shunt/core/stand_in.h). Arguments go by name, or as written:
// sub.Tensor(other, self, alpha).
#pragma once

#include "tools/opgen/model/operator.h"

namespace opgen {

/// Notes what `direct_while` says, and adds the composite to the entry's kernels, which its derived forms take over.
void readTensorForm(OperatorDef& op, const std::string& text, const SourcePlace& place);

/// Finds the tensor's form of each number's form, once all operators are known, and checks that one can call the other.
void linkTensorForms(Dictionary& dictionary);

/// `ops::add_Tensor::call(self, wrapped_scalar_tensor(other), alpha)`
std::string tensorFormCall(const OperatorDef& op);

/// A kernel for this key can be a stand-in: not an alias, nor a key above the backends.
bool isBackendKey(const std::string& key);

}  // namespace opgen
