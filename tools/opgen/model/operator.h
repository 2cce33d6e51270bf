// The model: every operator of the dictionary, with what the emitters need to know of it.
//
// Filled once by readDictionary (dictionary.h) and readDerivatives (derivatives.h), read-only afterwards. Pointers
// between operators stay valid because a Dictionary never moves its operators.
#pragma once

#include "tools/opgen/model/source_place.h"

#include <shunt/core/function_schema.h>

#include <deque>
#include <map>
#include <string>
#include <vector>

namespace opgen {

enum class Form { kFunctional, kInplace, kOut };

/// How a kernel comes about.
enum class KernelKind {
  kNative,       // shunt::native::<name>, handwritten
  kElementwise,  // elementwise::run* of functor <name>
  kReduction,    // reduce::reduceOperator of accumulator <name>
  kCopy,         // compute the functional form, then copy
  kStructured,   // shunt::native::<name>_meta and <name>_impl, for every form
  kTensorForm,   // calls the form that takes a tensor for the number
};

struct Kernel {
  std::string key;  // a DispatchKey's name
  KernelKind kind = KernelKind::kNative;
  std::string name;
};

struct Derivative;
struct OperatorDef;

/// The operator that a number's form is made of: `direct_while` of an entry. See tensor_form.h.
struct TensorForm {
  std::string text;  // as written; empty: the functional form's, in this operator's form
  SourcePlace place;
  const OperatorDef* op = nullptr;
  std::vector<std::string> arguments;  // names of the number's form's, in the order of `op`'s
};

struct OperatorDef {
  shunt::FunctionSchema schema;
  SourcePlace place;
  Form form = Form::kFunctional;
  bool derived = false;  // made from the functional entry by `variants`
  std::string cpp_name;  // struct in namespace shunt::ops: add_Tensor, add__Tensor, add_out
  std::vector<Kernel> kernels;
  std::vector<std::string> functors;      // that its handwritten kernels run; sorted
  std::vector<std::string> accumulators;  // the same
  bool function = true;
  bool method = false;
  /// The module of Python's package whose function it is: "nn" is nn.functional's, "" the package.
  std::string python_module;
  std::vector<std::string> python_optional;  // arguments that are None in Python where they aren't given
  /// Whether who looks at a call from Python sees tensor_form's operator, with the number as a tensor.
  bool number_is_tensor = false;
  bool manual_cpp_binding = false;
  bool device_check = true;
  std::vector<std::string> tags;
  std::vector<std::string> no_cpp_defaults;  // arguments whose default the C++ API leaves out
  TensorForm tensor_form;
  /// The functional operator whose in-place or out form this is; null for functional ones and for lone forms.
  const OperatorDef* functional = nullptr;
  /// Null when the derivatives say nothing of it (in-place forms share their functional form's).
  const Derivative* derivative = nullptr;

  explicit OperatorDef(shunt::FunctionSchema s) : schema(std::move(s)) {}

  std::string name() const { return std::string(schema.operator_name().baseName()); }
  const std::string& overload() const { return schema.overload_name(); }
  std::string qualifiedName() const { return schema.operator_name().str(); }
  const std::vector<shunt::Argument>& arguments() const { return schema.arguments(); }
  const std::vector<shunt::Argument>& returns() const { return schema.returns(); }

  bool hasKernelFor(const std::string& key) const;
  bool isCompositeImplicit() const;
  /// Its kernels for backends stand in for a call of tensor_form.
  bool hasTensorForm() const;
  /// Returns alias an argument without writing to it (view, split).
  bool isView() const;
  /// The argument that a view is of.
  const shunt::Argument& viewBase() const;
  /// Has the four arguments dtype, layout, device, pin_memory in this order; index of dtype in *first.
  bool hasTensorOptions(size_t* first = nullptr) const;
  bool hasTensorArgument() const;
  bool isFactory() const { return hasTensorOptions() && !hasTensorArgument(); }
  bool returnsTensors() const;
};

/// Another name of an operator in Python, with all its overloads.
struct PythonAlias {
  std::string name;
  std::string of;  // an operator's name
};

struct Dictionary {
  std::deque<OperatorDef> operators;  // in the file's order, derived forms after their functional one
  std::vector<PythonAlias> aliases;

  OperatorDef* find(const std::string& name, const std::string& overload);
  const OperatorDef* find(const std::string& name, const std::string& overload) const {
    return const_cast<Dictionary*>(this)->find(name, overload);
  }
};

/// Every functor that an entry names, sorted; every accumulator.
std::vector<std::string> functorsOf(const Dictionary& dictionary);
std::vector<std::string> accumulatorsOf(const Dictionary& dictionary);

bool isTensor(const shunt::Argument& a);      // Tensor, Tensor?, Tensor[], Tensor?[]
bool isTensorList(const shunt::Argument& a);  // the last two

/// One registration of a generated or native function, collected by the emitters for emit_registrations.
struct Registration {
  const OperatorDef* op;
  std::string key;       // DispatchKey
  std::string function;  // expression of type pointer to function, a constant
  bool takes_keyset;
};
using Registrations = std::vector<Registration>;

}  // namespace opgen
