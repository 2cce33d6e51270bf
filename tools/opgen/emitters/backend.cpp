#include "tools/opgen/emitters/emit.h"
#include "tools/opgen/emitters/shard_counts.h"
#include "tools/opgen/model/cpp_types.h"
#include "tools/opgen/model/tensor_form.h"

#include <shunt/core/dispatch_key.h>

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace opgen {

using shunt::Argument;

namespace {

constexpr const char* kHead = R"(#include "generated/native_functions.h"
#include "generated/wrappers.h"
#include "kernels/pointwise/functors/all.h"
#include "kernels/pointwise/run.h"
#include "kernels/rows/reduce_operator.h"
#include "kernels/wrappers/copy_forms.h"
#include "kernels/wrappers/device_check.h"
#include "kernels/wrappers/structured.h"

#include <shunt/core/kernel_function.h>

namespace shunt {

)";

/// A generated function `wrappers::<space>::<cpp_name>` without keyset.
std::string wrapperFunction(const OperatorDef& op, const std::string& space, const std::string& body) {
  return fmt::format("namespace wrappers::{} {{\n{} {}({}) {{\n{}}}\n}}\n", space, returnType(op), op.cpp_name,
                     parameters(op), body);
}

/// The elementwise engine takes the functor's inputs first and the output apart.
std::string elementwiseBody(const OperatorDef& op, const std::string& functor) {
  std::vector<std::string> args = {quoted(op.name())};
  if (op.form == Form::kOut) args.push_back(op.arguments().back().name);
  if (op.form == Form::kInplace) args.push_back("self");
  for (const Argument& a : op.arguments())
    if (!a.is_write()) args.push_back(a.name);
  const char* run = op.form == Form::kFunctional ? "run" : op.form == Form::kInplace ? "runInplace" : "runOut";
  const std::string call =
      fmt::format("::shunt::elementwise::{}<::shunt::functors::{}>({})", run, functor, join(args, ", "));
  if (op.form == Form::kFunctional) return fmt::format("  return {};\n", call);
  return fmt::format("  {};\n  return {};\n", call, op.form == Form::kInplace ? "self" : op.arguments().back().name);
}

/// `self`, and what the operator has of the other arguments.
std::string reductionBody(const OperatorDef& op, const std::string& accumulator) {
  const auto given = [&](const char* argument, const char* otherwise) -> std::string {
    return op.schema.findArgument(argument) != nullptr ? argument : otherwise;
  };
  const bool one_dim = op.schema.findArgument("dim") != nullptr && !op.schema.findArgument("dim")->type.list;
  const std::string dim = one_dim ? "IntArrayRef(dim)" : given("dim", "std::nullopt");
  return fmt::format("  return ::shunt::reduce::reduceOperator<::shunt::accumulators::{}>({}, self, {}, {}, {});\n",
                     accumulator, quoted(op.name()), dim, given("keepdim", "false"), given("dtype", "std::nullopt"));
}

/// The functional form's arguments, read from an in-place or out form's; a factory takes its options from `out`.
std::string functionalArguments(const OperatorDef& op, const OperatorDef& functional) {
  std::vector<std::string> parts;
  size_t first = 0;
  const bool options = functional.hasTensorOptions(&first);
  const std::string out = op.arguments().back().name;
  for (size_t i = 0; i < functional.arguments().size(); ++i) {
    const bool option = options && op.form == Form::kOut && i >= first && i < first + 4;
    static constexpr const char* kOptions[] = {"{}.scalar_type()", "{}.layout()", "{}.device()", "std::nullopt"};
    parts.push_back(option ? fmt::format(fmt::runtime(kOptions[i - first]), out) : functional.arguments()[i].name);
  }
  return join(parts, ", ");
}

std::string copyBody(const OperatorDef& op, const Kernel& k) {
  const std::string copy = k.name == "cast" ? "castToOut" : "copyToOut";
  const OperatorDef& functional = *op.functional;
  const std::string call = fmt::format("ops::{}::call({})", functional.cpp_name, functionalArguments(op, functional));
  if (op.form == Form::kInplace) return fmt::format("  return copyInplace({}, self, {});\n", quoted(op.name()), call);
  std::vector<std::string> outs;
  for (const Argument& a : op.arguments())
    if (a.is_out()) outs.push_back(a.name);
  if (outs.size() == 1) return fmt::format("  return {}({}, {}, {});\n", copy, quoted(op.name()), outs[0], call);
  std::string body = fmt::format("  const auto results = {};\n", call);
  for (size_t i = 0; i < outs.size(); ++i)
    body += fmt::format("  {}({}, {}, std::get<{}>(results));\n", copy, quoted(op.name()), outs[i], i);
  return body + fmt::format("  return {}({});\n", returnType(op), join(outs, ", "));
}

/// The functional form's arguments, which a form's own are with `out` taken away.
std::string structuredBody(const OperatorDef& op, const Kernel& k) {
  std::vector<std::string> args, inputs;
  for (const Argument& a : op.arguments()) {
    if (a.is_out()) continue;
    args.push_back(a.name);
    if (isTensor(a)) inputs.push_back("&" + a.name);
  }
  const std::string list = join(args, ", "), meta = fmt::format("native::{}_meta({})", k.name, list);
  const std::string impl = fmt::format("[&](const Tensor& result) {{ native::{}_impl({}, result); }}", k.name, list);
  if (op.form == Form::kFunctional) return fmt::format("  return structured({}, {});\n", meta, impl);
  if (op.form == Form::kInplace)
    return fmt::format("  return structuredInplace({}, {}, self, {});\n", quoted(op.name()), meta, impl);
  return fmt::format("  return structuredOut({}, {}, {{{}}}, {}, {});\n", quoted(op.name()), meta, join(inputs, ", "),
                     op.arguments().back().name, impl);
}

/// Errors name the operator that the user called, also for undefined tensors, which come to no backend's kernel.
std::string tensorFormBody(const OperatorDef& op) {
  std::string body;
  for (size_t i = 0; i < op.arguments().size(); ++i)
    if (const Argument& a = op.arguments()[i]; isTensor(a))
      body += fmt::format(
          "  SHUNT_CHECK({1}.defined(), \"{0}(): argument '{1}' (position {2}) is an undefined tensor; expected one "
          "with data\");\n",
          op.name(), a.name, i + 1);
  return body + fmt::format("  return {};\n", tensorFormCall(op));
}

bool needsDeviceCheck(const OperatorDef& op, const Kernel& k) {
  const auto key = *shunt::parseDispatchKey(k.key);
  if (!op.device_check || shunt::isAliasKey(key)) return false;
  const auto& args = op.arguments();
  const auto tensors = std::count_if(args.begin(), args.end(), isTensor);
  return tensors > 1 || std::any_of(args.begin(), args.end(), isTensorList);
}

std::string deviceChecks(const OperatorDef& op, const Kernel& k) {
  std::string body = fmt::format("  CommonDevice common(\"wrapper_{}_{}\");\n", k.key, op.cpp_name);
  for (const Argument& a : op.arguments())
    if (isTensor(a)) body += fmt::format("  common.check({}, {});\n", a.name, quoted(a.name));
  return body;
}

/// Collects what the kernels of one dictionary become.
class BackendEmitter {
 public:
  explicit BackendEmitter(Registrations& registrations)
      : registrations_(registrations),
        shards_("generated/backend", kBackendShards, kHead, "\n}  // namespace shunt\n") {}

  void add(const OperatorDef& op) {
    for (const Kernel& k : op.kernels) addKernel(op, k);
  }
  void write(const Output& out) const { shards_.write(out); }

 private:
  void addKernel(const OperatorDef& op, const Kernel& k) {
    switch (k.kind) {
      case KernelKind::kElementwise:
        return addWrapper(op, k, "elementwise_kernels", elementwiseBody(op, k.name));
      case KernelKind::kReduction:
        return addWrapper(op, k, "reductions", reductionBody(op, k.name));
      case KernelKind::kCopy:
        return addWrapper(op, k, "copying", copyBody(op, k));
      case KernelKind::kStructured:
        return addWrapper(op, k, "structured_" + k.key,
                          (needsDeviceCheck(op, k) ? deviceChecks(op, k) : "") + structuredBody(op, k));
      case KernelKind::kTensorForm:
        return addWrapper(op, k, "by_tensor_form", tensorFormBody(op));
      case KernelKind::kNative:
        break;
    }
    if (needsDeviceCheck(op, k))
      return addWrapper(op, k, "backend_" + k.key,
                        deviceChecks(op, k) + fmt::format("  return native::{}({});\n", k.name, argumentNames(op)));
    // The cast chooses among overloads of one native name.
    addRegistration({&op, k.key, fmt::format("static_cast<ops::{}::Schema*>(&native::{})", op.cpp_name, k.name), false},
                    fmt::format("native::{}({})", k.name, argumentTypes(op)));
  }

  void addWrapper(const OperatorDef& op, const Kernel& k, const std::string& space, const std::string& body) {
    const std::string function = fmt::format("wrappers::{}::{}", space, op.cpp_name);
    if (seen_.count(function) == 0) shards_.add(op.cpp_name, wrapperFunction(op, space, body));
    addRegistration({&op, k.key, "&" + function, false}, function);
  }

  void addRegistration(Registration registration, const std::string& identity) {
    if (seen_.insert(identity).second) shards_.add(registration.op->cpp_name, instantiateKernel(registration));
    registrations_.push_back(std::move(registration));
  }

  Registrations& registrations_;
  Shards shards_;
  std::set<std::string> seen_;
};

}  // namespace

std::string instantiateKernel(const Registration& r) {
  return fmt::format("template struct boxing::StaticKernel<{}, {}, boxing::Types<{}>>;\n", r.function,
                     returnType(*r.op), argumentTypes(*r.op));
}

void emitBackend(const Dictionary& dictionary, const Output& out, Registrations& registrations) {
  BackendEmitter emitter(registrations);
  for (const OperatorDef& op : dictionary.operators) emitter.add(op);
  emitter.write(out);
}

}  // namespace opgen
