// *_derivatives.yaml -> the model: which operators have a backward, by which formulas, and what their nodes save.
#pragma once

#include "tools/opgen/model/operator.h"

#include <memory>

namespace opgen {

/// Where the gradients of some inputs come from.
struct GradientFormula {
  std::vector<std::string> inputs;  // several: the formula returns a tuple and may read grad_input_mask
  std::string expression;           // after rewriting: names of locals of apply() only
  SourcePlace place;
};

/// A value that a node keeps from the call for its formulas, where it is a local of the same name.
struct SavedValue {
  std::string name;        // self, alpha, self_sizes, result
  std::string expression;  // what is saved: the argument's or result's name, or self.sizes() for a property
  const shunt::Argument* argument = nullptr;  // null for properties and results
  std::string property_type;                  // C++ type of a property
  bool is_output = false;                     // a result, or a property of one
  bool is_output_list = false;
  bool of_self = false;         // the whole of `self`: an in-place form keeps a clone
  std::vector<size_t> used_by;  // numbers of formulas

  bool isProperty() const { return !property_type.empty(); }
};

struct Derivative {
  SourcePlace place;
  const OperatorDef* op = nullptr;  // the operator whose schema the entry repeats
  std::string node_name;            // AddBackward0; empty when there is no formula
  std::vector<GradientFormula> formulas;
  std::vector<std::string> inputs;  // arguments that formulas give gradients for, in the schema's order
  std::vector<std::string> non_differentiable;
  std::vector<bool> output_differentiability;  // one per return
  std::vector<SavedValue> saved;
  /// The default Autograd kernel serves the operator: its results' backward throws.
  bool not_implemented = false;

  bool nothingDifferentiable() const { return formulas.empty(); }
};

using Derivatives = std::vector<std::unique_ptr<Derivative>>;

/// Reads the files and sets OperatorDef::derivative of every operator concerned. Fails on entries without operator or
/// with unknown arguments, and on operators whose gradients would be lost for lack of an entry.
Derivatives readDerivatives(const std::vector<std::string>& paths, Dictionary& dictionary);

/// The name of the i-th result in formulas: its own, `result`, or `result<i>`.
std::string resultName(const OperatorDef& op, size_t i);

/// The names that a formula uses become locals of apply(): rewrites `self.sizes()` to self_sizes and the like, and adds
/// what has to be saved to `derivative`. `number` is the formula's.
std::string rewriteFormula(const std::string& expression, size_t number, Derivative& derivative);

}  // namespace opgen
