// Emits the functions and methods of the public API.
#include "tools/opgen/emitters/emit.h"
#include "tools/opgen/model/cpp_types.h"

#include <fmt/format.h>

#include <algorithm>

namespace opgen {

using shunt::Argument;

namespace {

constexpr const char* kFunctionsHead =
    R"(// The dictionary's operators as functions with PyTorch's names: shunt::add, shunt::add_out (out first) and
// shunt::add_outf (out last). Include shunt/ops.h instead. Any thread may call.
#pragma once

#include <shunt/tensor/tensor.h>

#include <limits>

namespace shunt {

)";

/// How one C++ function or method differs from ops::X::call.
struct Binding {
  bool method = false;
  bool out_first = false;  // add_out; add_outf keeps the order
  bool options = false;    // the four option arguments are one TensorOptions
  bool defaults = true;
  std::string name;
};

bool isOptionArgument(const OperatorDef& op, size_t i, bool options) {
  size_t first = 0;
  return options && op.hasTensorOptions(&first) && i >= first && i < first + 4;
}

std::string optionsParameter(const OperatorDef& op, size_t i, bool defaults) {
  const bool has_default = op.arguments()[i].default_value.has_value();
  return std::string("TensorOptions options") + (defaults && has_default ? " = {}" : "");
}

std::string bindingParameters(const OperatorDef& op, const Binding& b) {
  std::vector<std::string> first, rest;
  size_t options_at = 0;
  op.hasTensorOptions(&options_at);
  for (size_t i = 0; i < op.arguments().size(); ++i) {
    const Argument& a = op.arguments()[i];
    if (b.method && a.name == "self") continue;
    if (isOptionArgument(op, i, b.options)) {
      if (i == options_at) rest.push_back(optionsParameter(op, i, b.defaults));
      continue;
    }
    std::string text = publicArgumentType(a) + " " + a.name;
    const auto& without = op.no_cpp_defaults;
    const bool has_default = a.default_value && std::find(without.begin(), without.end(), a.name) == without.end();
    if (b.defaults && has_default) text += " = " + defaultExpression(a);
    (b.out_first && a.is_out() ? first : rest).push_back(std::move(text));
  }
  first.insert(first.end(), rest.begin(), rest.end());
  return join(first, ", ");
}

/// A memory format may come by its own argument or inside the options.
std::string passedArgument(const OperatorDef& op, size_t i, const Binding& b) {
  static constexpr const char* kFromOptions[] = {"options.dtype_opt()", "options.layout_opt()", "options.device_opt()",
                                                 "options.pinned_memory_opt()"};
  const Argument& a = op.arguments()[i];
  size_t first = 0;
  op.hasTensorOptions(&first);
  if (isOptionArgument(op, i, b.options)) return kFromOptions[i - first];
  if (b.options && a.name == "memory_format") return "detail::memoryFormat(options, memory_format)";
  if (b.method && a.name == "self") return a.is_write() ? "const_cast<Tensor&>(*this)" : "*this";
  return a.name;
}

std::string emitBinding(const OperatorDef& op, const Binding& b) {
  std::vector<std::string> passed;
  for (size_t i = 0; i < op.arguments().size(); ++i) passed.push_back(passedArgument(op, i, b));
  const std::string call = fmt::format("ops::{}::call({})", op.cpp_name, join(passed, ", "));
  // Factories of the public API record gradients on request; the operators themselves never do.
  const bool grad = b.options && returnType(op) == "Tensor";
  // What may return its argument can't set a flag of the result's.
  const char* form = !grad                        ? "return {};"
                     : op.returns()[0].hasAlias() ? "detail::checkNoRequiresGrad(options); return {};"
                                                  : "return detail::withRequiresGrad({}, options);";
  const std::string body = fmt::format(fmt::runtime(form), call);
  return fmt::format("{}{} {}({}){} {{ {} }}\n", b.method ? "" : "inline ", returnType(op), b.name,
                     bindingParameters(op, b), b.method ? " const" : "", body);
}

/// The form with TensorOptions, which has the defaults, and the one with the four arguments.
std::string emitBindings(const OperatorDef& op, Binding b) {
  if (!op.hasTensorOptions()) return emitBinding(op, b);
  b.options = true;
  std::string text = emitBinding(op, b);
  b.options = b.defaults = false;
  return text + emitBinding(op, b);
}

std::string functionsOf(const OperatorDef& op) {
  if (op.form != Form::kOut) return emitBindings(op, {.name = op.name()});
  return emitBindings(op, {.out_first = true, .name = op.name() + "_out"}) +
         emitBindings(op, {.defaults = false, .name = op.name() + "_outf"});
}

}  // namespace

void emitPublicApi(const Dictionary& dictionary, const Output& out) {
  std::string functions = std::string(kBanner) + kFunctionsHead;
  std::string methods = std::string(kBanner) + "// Inside class Tensor.\n";
  for (const OperatorDef& op : dictionary.operators) {
    if (op.manual_cpp_binding) continue;
    if (op.function) functions += functionsOf(op);
    if (op.method) methods += emitBindings(op, {.method = true, .name = op.name()});
  }
  out.write("include/shunt/generated/functions.h", functions + "\n}  // namespace shunt\n");
  out.write("include/shunt/generated/tensor_methods.inc", methods);
}

}  // namespace opgen
