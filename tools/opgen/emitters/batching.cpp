// Emits vmap's table of rules, and the list of operators whose calls on batches need no Stack.
#include "tools/opgen/emitters/emit.h"

#include <fmt/format.h>

namespace opgen {
namespace {

constexpr const char* kKinds[] = {"kPointwise", "kDims", "kReduction", "kRule", "kRandom", "kUnsupported"};

std::string row(const BatchRule& rule) {
  std::string arguments;
  for (const BatchArgument& a : rule.arguments) arguments += fmt::format("{{{}, '{}'}}, ", a.position, a.role);
  const bool refused = rule.kind == BatchKind::kUnsupported;
  return fmt::format(
      "{{&ops::{}::symbol, BatchKind::{}, {{{}}}, {}, {}, {}}},\n", rule.op->cpp_name,
      kKinds[static_cast<int>(rule.kind)], arguments,
      rule.kind == BatchKind::kRule ? "&rules::" + rule.text : "nullptr",
      rule.functional == nullptr ? "nullptr" : fmt::format("&ops::{}::symbol", rule.functional->cpp_name),
      refused ? fmt::format("\"{}\"", rule.text) : "nullptr");
}

}  // namespace

void emitBatching(const BatchRules& rules, const Output& out) {
  std::string text = std::string(kBanner) + "// Rows of vmap's table: src/transforms/vmap/table.cpp.\n";
  for (const BatchRule& rule : rules) text += row(rule);
  out.write("generated/batch_rules.inc", text);
  std::string pointwise =
      std::string(kBanner) + "// Operators with a kernel in src/transforms/vmap/pointwise_kernels.cpp.\n";
  for (const BatchRule& rule : rules)
    if (rule.kind == BatchKind::kPointwise) pointwise += fmt::format("SHUNT_POINTWISE({})\n", rule.op->cpp_name);
  out.write("generated/batch_pointwise.inc", pointwise);
}

}  // namespace opgen
