#include "tools/opgen/model/derive_forms.h"

#include "tools/opgen/model/cpp_types.h"

#include <shunt/core/error.h>

namespace opgen {
namespace {

using shunt::AliasInfo;
using shunt::Argument;
using shunt::FunctionSchema;
using shunt::OperatorName;

AliasInfo written(const std::string& set) { return AliasInfo({set}, {set}, true); }

/// name_rest -> name + suffix + rest; a kernel named otherwise gets the suffix at its end.
std::string withSuffix(const std::string& kernel, const std::string& name, const std::string& suffix) {
  const bool prefixed = kernel == name || kernel.rfind(name + "_", 0) == 0;
  return prefixed ? name + suffix + kernel.substr(name.size()) : kernel + suffix;
}

std::vector<Kernel> deriveKernels(const OperatorDef& op, const std::string& suffix, const std::string& given) {
  if (given == "cast") return {{"CompositeExplicitAutograd", KernelKind::kCopy, "cast"}};
  if (given == "copy") return {{"CompositeExplicitAutograd", KernelKind::kCopy, ""}};
  std::vector<Kernel> out = op.kernels;
  for (Kernel& k : out) {
    if (k.kind == KernelKind::kReduction && given.empty())
      fail(op.place, "a reduction's other forms need a kernel: 'out: copy', 'out: cast', or a name");
    if (k.kind == KernelKind::kReduction) k.kind = KernelKind::kNative;
    if (k.kind == KernelKind::kNative) k.name = given.empty() ? withSuffix(k.name, op.name(), suffix) : given;
  }
  return out;
}

OperatorDef derive(const OperatorDef& functional, FunctionSchema schema, Form form) {
  OperatorDef op(std::move(schema));
  op.place = functional.place;
  op.form = form;
  op.derived = true;
  op.cpp_name = structName(op);
  op.device_check = functional.device_check;
  op.manual_cpp_binding = functional.manual_cpp_binding;
  op.python_module = functional.python_module;
  op.python_optional = functional.python_optional;
  op.number_is_tensor = functional.number_is_tensor;
  op.tags = functional.tags;
  op.functional = &functional;
  return op;
}

std::vector<Argument> withoutOptions(const OperatorDef& op) {
  std::vector<Argument> args = op.arguments();
  size_t first = 0;
  if (op.hasTensorOptions(&first))
    args.erase(args.begin() + static_cast<long>(first), args.begin() + static_cast<long>(first) + 4);
  return args;
}

Argument withoutAlias(Argument a) {
  a.alias.reset();
  return a;
}

}  // namespace

OperatorDef deriveInplace(const OperatorDef& functional, const Variants& variants) {
  std::vector<Argument> args = functional.arguments();
  if (args.empty() || args[0].name != "self" || !args[0].type.isPlain(shunt::TypeKind::Tensor) ||
      functional.returns().size() != 1)
    fail(functional.place, "an in-place form needs 'Tensor self' as first argument and one returned Tensor");
  args[0].alias = written("a");
  Argument result = functional.returns()[0];
  result.name.clear();
  result.alias = written("a");
  OperatorDef op = derive(functional,
                          FunctionSchema(OperatorName("aten::" + functional.name() + "_", functional.overload()),
                                         std::move(args), {std::move(result)}),
                          Form::kInplace);
  op.function = functional.name()[0] != '_' && variants.function;
  op.method = true;
  op.kernels = deriveKernels(functional, "_", variants.inplace_kernel);
  op.tensor_form = {variants.inplace_tensor_form, functional.tensor_form.place, nullptr, {}};
  return op;
}

OperatorDef deriveOut(const OperatorDef& functional, const Variants& variants) {
  std::vector<Argument> args = withoutOptions(functional);
  for (Argument& a : args) a = withoutAlias(a);
  std::vector<Argument> returns;
  const auto& results = functional.returns();
  if (results.empty()) fail(functional.place, "an out form needs a returned Tensor");
  if (!variants.out_args.empty() && variants.out_args.size() != results.size())
    fail(functional.place, "'out_args' needs a name for each returned Tensor");
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i].type.isPlain(shunt::TypeKind::Tensor))
      fail(functional.place, "an out form needs returns of type Tensor");
    Argument out = withoutAlias(results[i]);
    if (!variants.out_args.empty()) out.name = variants.out_args[i];
    if (out.name.empty()) out.name = results.size() == 1 ? "out" : "out" + std::to_string(i);
    out.alias = written(std::string(1, static_cast<char>('a' + i)));
    out.kwarg_only = true;
    Argument result = out;
    result.kwarg_only = false;
    if (results[i].name.empty() || !variants.out_args.empty()) result.name.clear();
    args.push_back(std::move(out));
    returns.push_back(std::move(result));
  }
  const std::string overload = !variants.out_name.empty()      ? variants.out_name
                               : functional.overload().empty() ? "out"
                                                               : functional.overload() + "_out";
  OperatorDef op =
      derive(functional,
             FunctionSchema(OperatorName("aten::" + functional.name(), overload), std::move(args), std::move(returns)),
             Form::kOut);
  op.kernels = deriveKernels(functional, "_out", variants.out_kernel);
  op.tensor_form.place = functional.tensor_form.place;
  return op;
}

bool isFormOf(const OperatorDef& form, const OperatorDef& functional) {
  std::string name = form.name();
  std::vector<Argument> args = form.arguments();
  std::vector<Argument> expected = functional.arguments();
  if (form.form == Form::kInplace) {
    name.pop_back();
  } else {
    while (!args.empty() && args.back().is_out()) args.pop_back();
    expected = withoutOptions(functional);
  }
  if (name != functional.name() || args.size() != expected.size()) return false;
  for (size_t i = 0; i < args.size(); ++i)
    if (args[i].name != expected[i].name || args[i].type != expected[i].type) return false;
  return true;
}

}  // namespace opgen
