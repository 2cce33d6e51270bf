#include "tools/opgen/model/tensor_form.h"

#include "tools/opgen/model/cpp_types.h"
#include "tools/opgen/model/near.h"
#include "tools/opgen/model/yaml_util.h"

#include <shunt/core/dispatch_key_set.h>

#include <fmt/format.h>

#include <algorithm>

namespace opgen {
namespace {

using shunt::Argument;
using shunt::TypeKind;

bool isWrapped(const Argument& given, const Argument& wanted) {
  return given.type.isPlain(TypeKind::Scalar) && wanted.type.isPlain(TypeKind::Tensor);
}

/// sub.Tensor(other, self, alpha)
void linkWritten(const Dictionary& dictionary, OperatorDef& op) {
  const std::string& text = op.tensor_form.text;
  const size_t open = text.find('(');
  if (open != std::string::npos) {
    if (text.back() != ')')
      fail(op.tensor_form.place, "'" + text + "': expected name.overload or name.overload(arguments)");
    op.tensor_form.arguments = splitList(text.substr(open + 1, text.size() - open - 2));
  }
  const std::string named = trim(text.substr(0, open));
  const size_t dot = named.find('.');
  op.tensor_form.op = dictionary.find(named.substr(0, dot), dot == std::string::npos ? "" : named.substr(dot + 1));
  if (op.tensor_form.op == nullptr)
    fail(op.tensor_form.place, op.qualifiedName() + " is made of '" + named +
                                   "', which is no operator of the dictionary" + nearOperators(dictionary, named));
}

/// The functional form's, in the form of `op`.
void linkDerived(const Dictionary& dictionary, OperatorDef& op) {
  const TensorForm& functional = op.functional->tensor_form;
  for (const OperatorDef& other : dictionary.operators)
    if (other.functional == functional.op && other.form == op.form) op.tensor_form.op = &other;
  const bool by_name = functional.text.find('(') == std::string::npos;  // else the order is the functional form's only
  if (op.tensor_form.op == nullptr || !by_name)
    fail(op.tensor_form.place, op.qualifiedName() + ": no form of " + functional.op->qualifiedName() +
                                   " has its arguments; an in-place form can name " +
                                   "one by 'inplace_direct_while', an out form be a copy");
}

/// Each argument of the tensor's form is one of the number's form: of the same type, or a number to be wrapped.
void checkArguments(OperatorDef& op) {
  const OperatorDef& called = *op.tensor_form.op;
  auto& given = op.tensor_form.arguments;
  if (given.empty())
    for (const Argument& a : called.arguments()) given.push_back(a.name);
  const std::string both = op.qualifiedName() + " can't call " + called.qualifiedName() + ": ";
  if (given.size() != called.arguments().size())
    fail(op.tensor_form.place, both + "it takes " + std::to_string(called.arguments().size()) + " arguments");
  bool wraps = false;
  for (size_t i = 0; i < given.size(); ++i) {
    const Argument& wanted = called.arguments()[i];
    const Argument* a = op.schema.findArgument(given[i]);
    if (a == nullptr)
      fail(op.tensor_form.place, both + "there is no argument '" + given[i] + "'" + nearArguments(op.schema, given[i]));
    const bool fits = isWrapped(*a, wanted) || (a->type == wanted.type && (a->is_write() || !wanted.is_write()));
    if (!fits) fail(op.tensor_form.place, both + "its '" + wanted.name + "' is no '" + a->name + "'");
    wraps |= isWrapped(*a, wanted);
  }
  if (!wraps) fail(op.tensor_form.place, both + "no number becomes a tensor");
  if (returnType(op) != returnType(called)) fail(op.tensor_form.place, both + "it returns " + returnType(called));
  if (called.hasTensorForm()) fail(op.tensor_form.place, both + "it is made of another operator itself");
}

}  // namespace

void readTensorForm(OperatorDef& op, const std::string& text, const SourcePlace& place) {
  const bool stands_in =
      std::any_of(op.kernels.begin(), op.kernels.end(), [](const Kernel& k) { return isBackendKey(k.key); });
  const bool composite = std::any_of(op.kernels.begin(), op.kernels.end(),
                                     [](const Kernel& k) { return k.key.rfind("Composite", 0) == 0; });
  if (!stands_in || composite) fail(place, "'direct_while' needs kernels for backends, and is itself the composite");
  op.tensor_form = {text, place, nullptr, {}};
  op.kernels.push_back({"CompositeExplicitAutograd", KernelKind::kTensorForm, ""});
}

void linkTensorForms(Dictionary& dictionary) {
  // A derived form follows its functional one, which is linked by then.
  for (OperatorDef& op : dictionary.operators) {
    if (!op.hasTensorForm()) continue;
    op.tensor_form.text.empty() ? linkDerived(dictionary, op) : linkWritten(dictionary, op);
    checkArguments(op);
  }
}

std::string tensorFormCall(const OperatorDef& op) {
  const OperatorDef& called = *op.tensor_form.op;
  std::vector<std::string> arguments;
  for (size_t i = 0; i < op.tensor_form.arguments.size(); ++i) {
    const Argument& a = *op.schema.findArgument(op.tensor_form.arguments[i]);
    arguments.push_back(isWrapped(a, called.arguments()[i]) ? "wrapped_scalar_tensor(" + a.name + ")" : a.name);
  }
  return fmt::format("ops::{}::call({})", called.cpp_name, join(arguments, ", "));
}

bool isBackendKey(const std::string& name) {
  const auto key = shunt::parseDispatchKey(name);
  return key && shunt::isRuntimeKey(*key) && shunt::kBackendFunctionalities.has(shunt::partsOf(*key).functionality);
}

}  // namespace opgen
