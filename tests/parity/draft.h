// Draft: a case in the making. Arguments are drawn on demand, since one may depend on a later one (cat's tensors on
// dim), and kept by name. Made and used by one call of drawCase.
#pragma once

#include "tests/parity/rules.h"
#include "tests/parity/tensors.h"

#include <shunt/core/function_schema.h>

#include <functional>
#include <map>
#include <optional>

namespace parity {

/// The tensors of a convolution or a pooling that belong together.
struct ImageShapes {
  std::vector<int64_t> image, weight, result;
  int64_t channels = 0;  // of the result
};

class Draft {
 public:
  Draft(const shunt::FunctionSchema& schema, int dtype, bool with_grad, bool plain, uint64_t seed);

  /// Draws the argument if it isn't yet.
  const Value& arg(const std::string& name);
  void preset(const std::string& name, Value v) { drawn_[name] = std::move(v); }
  bool has(const std::string& name) const { return schema.findArgument(name) != nullptr; }
  /// The sizes that dimensions and indices refer to: input_sizes, or the first tensor's.
  std::vector<int64_t> subject();
  int64_t dims() { return static_cast<int64_t>(subject().size()); }
  /// The dimension drawn for `dim`, counted from the front, and its size (1 for 0-dim tensors).
  int64_t wrappedDim(const std::string& name = "dim");
  int64_t sizeOfDim(const std::string& name = "dim");
  /// Draws all that says how a window moves over an image, as arguments, and the tensors' shapes with it.
  const ImageShapes& images();
  const TensorSpec& tensor(const Value& v) const { return c.tensors[static_cast<size_t>(v.ints[0])]; }

  const shunt::FunctionSchema& schema;
  const Rule& rule;
  std::string op;  // without namespace and underscore
  int dtype;       // of the cell
  bool with_grad;
  bool plain;  // no mixed dtypes, nothing rare
  Data data;
  Rng rng;
  Case c;

 private:
  friend int64_t drawTensor(Draft& d, const shunt::Argument& a);
  friend struct ShapeGrammar;
  void assignTokens();

  std::map<std::string, Value> drawn_;
  std::map<std::string, std::string> tokens_;  // by argument
  std::map<char, int64_t> letters_;
  std::optional<std::vector<int64_t>> full_, batch_;
  std::optional<ImageShapes> images_;
  std::string first_tensor_;
};

/// Draws einsum's equation and operands that fit it.
void drawEinsum(Draft& d);

/// By the rule's token for the argument; returns the tensor's index.
int64_t drawTensor(Draft& d, const shunt::Argument& a);
/// Everything but tensors: by the table in arguments.cpp, else by type.
Value drawArgument(Draft& d, const shunt::Argument& a);
/// A number of any kind.
Value drawScalar(Draft& d);

/// Runs a call on the library that says what results look like, so that out= tensors fit. Each program defines its own.
Outcome runModel(const Case& c);

/// A whole case: arguments in the schema's order, out= tensors of fitting and of unfitting sizes.
Case drawCase(const shunt::FunctionSchema& schema, int dtype, bool with_grad, bool plain, uint64_t seed);
/// Breaks one argument: dimension, shape, dtype, undefined tensor, overlap. The call may still be legal.
void breakCase(Case& c, const shunt::FunctionSchema& schema, Rng& rng);

}  // namespace parity
