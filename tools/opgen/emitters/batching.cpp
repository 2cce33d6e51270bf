// Emits vmap's table of rules.
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
}

}  // namespace opgen
