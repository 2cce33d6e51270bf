#include "tools/opgen/emitters/emit.h"
#include "tools/opgen/model/cpp_types.h"

#include <fmt/format.h>

namespace opgen {

using shunt::Argument;

namespace {

constexpr const char* kHead =
    R"(// Autocast wrappers: cast the arguments by policy, run the operator below with autocast off.
#include "generated/wrappers.h"

#include <shunt/core/kernel_function.h>
#include <shunt/transforms/autocast.h>

namespace shunt {

)";

/// The devices that have autocast, with the key of each.
constexpr const char* kDevices[] = {"CPU", "CUDA", "PrivateUse1", "PrivateUse2", "PrivateUse3"};

std::string targetType(const AutocastRule& rule) {
  if (rule.policy == CastPolicy::kFloat32) return "kFloat";
  std::string type = "autocast::lower_precision_dtype(D)";
  if (rule.policy == CastPolicy::kLowerPrecision) return type;
  for (const Argument& a : rule.op->arguments())
    if (isTensor(a)) type = fmt::format("autocast::promote_type({}, D, {})", type, a.name);
  return type;
}

std::string castArguments(const OperatorDef& op) {
  std::vector<std::string> parts = {"ks & DispatchKeySet::fullAfter(K)"};
  for (const Argument& a : op.arguments())
    parts.push_back(isTensor(a) ? fmt::format("autocast::cached_cast(to, {}, D)", a.name) : a.name);
  return join(parts, ", ");
}

/// One function for all devices, instantiated per device below.
std::string castingTemplate(const AutocastRule& rule) {
  const OperatorDef& op = *rule.op;
  return fmt::format(
      "namespace {{\ntemplate <DispatchKey K, DeviceType D>\n{0} casting_{1}({2}) {{\n"
      "  ExcludeDispatchKeyGuard no_autocast(kAutocastKeys);\n  const ScalarType to = {3};\n"
      "  return ops::{1}::redispatch({4});\n}}\n}}\n",
      returnType(op), op.cpp_name, parameters(op, "DispatchKeySet ks"), targetType(rule), castArguments(op));
}

std::string deviceWrapper(const OperatorDef& op, const std::string& device) {
  return fmt::format(
      "namespace wrappers::autocast_{0} {{\n{1} {2}({3}) {{\n"
      "  return casting_{2}<DispatchKey::Autocast{0}, DeviceType::{0}>({4});\n}}\n}}\n",
      device, returnType(op), op.cpp_name, parameters(op, "DispatchKeySet ks"), argumentNames(op, "ks"));
}

}  // namespace

void emitAutocast(const std::vector<AutocastRule>& rules, const Output& out, Registrations& registrations) {
  std::string text = std::string(kBanner) + kHead;
  for (const AutocastRule& rule : rules) {
    text += castingTemplate(rule);
    for (const std::string device : kDevices) {
      registrations.push_back(
          {rule.op, "Autocast" + device, fmt::format("&wrappers::autocast_{}::{}", device, rule.op->cpp_name), true});
      text += deviceWrapper(*rule.op, device) + instantiateKernel(registrations.back());
    }
  }
  out.write("generated/autocast.cpp", text + "\n}  // namespace shunt\n");
}

}  // namespace opgen
