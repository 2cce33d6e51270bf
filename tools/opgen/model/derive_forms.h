// In-place and out= forms of functional operators: schema, kernels, and the test whether two operators are such a pair.
#pragma once

#include "tools/opgen/model/operator.h"

namespace opgen {

/// What an entry's `variants`, `out_name`, `out_args`, `inplace` and `out` ask for.
struct Variants {
  bool function = true, method = false, inplace = false, out = false;
  std::string out_name, inplace_kernel, out_kernel, inplace_tensor_form;
  std::vector<std::string> out_args;
};

/// add.Tensor -> add_.Tensor(Tensor(a!) self, ...) -> Tensor(a!)
OperatorDef deriveInplace(const OperatorDef& functional, const Variants& variants);
/// add.Tensor -> add.out(..., *, Tensor(a!) out) -> Tensor(a!); several results get out0, out1, ... or their names.
OperatorDef deriveOut(const OperatorDef& functional, const Variants& variants);
/// Same name and arguments, apart from what the form changes.
bool isFormOf(const OperatorDef& form, const OperatorDef& functional);

}  // namespace opgen
