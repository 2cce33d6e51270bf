// derivatives.yaml -> the model: which operators have a backward, by which formulas, and what their nodes save.
#pragma once

#include "kernels/opgen/operator.h"

#include <memory>

namespace opgen {

/// Where the gradients of some inputs come from.
struct GradientFormula {
  std::vector<std::string> inputs;  // several: the formula returns a tuple and may read grad_input_mask
  std::string expression;           // after rewriting: names of locals of apply() only
  SourcePlace place;
};

/// A member of a node: saved when the operator runs, unpacked into a local of the same name in apply().
struct SavedValue {
  std::string name;        // the local: self, alpha, self_sizes, result0
  std::string argument;    // the argument or result it is (or is taken from)
  std::string expression;  // `self.sizes().vec()` for derived values, empty for the whole
  std::string type;        // C++ type of the local for derived values
  bool is_output = false;
  std::vector<size_t> used_by;  // numbers of formulas
};

struct Derivative {
  SourcePlace place;
  std::string node_name;  // AddBackward0; empty when there is no formula
  std::vector<GradientFormula> formulas;
  std::vector<std::string> non_differentiable;
  std::vector<bool> output_differentiability;
  std::vector<SavedValue> saved;
  /// In the schema's order: the arguments that formulas give gradients for.
  std::vector<std::string> inputs;
  /// The operator whose schema the entry repeats.
  const OperatorDef* op = nullptr;

  bool nothingDifferentiable() const { return formulas.empty(); }
};

using Derivatives = std::vector<std::unique_ptr<Derivative>>;

/// Reads the file and sets OperatorDef::derivative of every operator concerned. Fails on entries without operator, unknown
/// arguments, and (unless `allow_missing`) on operators that need an entry and have none.
Derivatives readDerivatives(const std::string& path, Dictionary& dictionary, bool allow_missing);

}  // namespace opgen
