#include "tools/shunt/argument.h"
#include "tools/shunt/commands.h"

#include <shunt/jit/explain.h>
#include <shunt/shunt.h>

#include <iostream>
#include <optional>

namespace shunt::cli {
namespace {

ScalarType autocastDtype(const std::string& name) {
  if (name == dtypeName(kBFloat16)) return kBFloat16;
  if (name == dtypeName(kHalf)) return kHalf;
  throw Error("--autocast takes bfloat16 or float16, not '" + name + "'");
}

void explainReport(const ExplainOptions& options) {
  jit::Stats all = readReport(options.report), of = all;
  const std::string name = options.op.find("::") == std::string::npos ? "aten::" + options.op : options.op;
  std::erase_if(of.pairs, [&](const jit::PairStats& p) { return p.op != name && !p.op.starts_with(name + "."); });
  std::erase_if(of.invalidations, [&](const jit::InvalidationRecord& r) { return !r.what.starts_with(name); });
  SHUNT_CHECK(!of.pairs.empty(), "the program observed no pair of ", name, "; ", all.pairs.size(),
              " pairs of other operators");
  if (options.json) {
    std::cout << jit::statsJson(of);
    return;
  }
  std::cout << jit::statsTable(of);
  for (const jit::PairStats& p : of.pairs) {
    std::cout << '\n' << p.op << " {" << p.keys << "} (" << p.signature << "): " << jit::toString(p.state) << '\n';
    if (!p.reason.empty()) std::cout << "  reason: " << p.reason << '\n';
    if (!p.invalidated_by.empty()) std::cout << "  last invalidated because of " << p.invalidated_by << '\n';
    std::cout << (p.plan.empty() ? "  never planned\n" : p.plan);
  }
}

}  // namespace

void printExplanation(const ExplainOptions& options) {
  if (!options.report.empty()) return explainReport(options);
  const OperatorHandle op = findOperator(options.op);
  Stack positional;
  std::map<std::string, IValue> named;
  for (const std::string& text : options.arguments) {
    auto [name, value] = parseNamed(text);
    SHUNT_CHECK(name.empty() || !named.contains(name), "argument '", name, "' is given twice");
    SHUNT_CHECK(!name.empty() || named.empty(), "argument '", text, "': arguments without a name come first");
    if (name.empty())
      positional.push_back(std::move(value));
    else
      named.emplace(name, std::move(value));
  }
  const AutoGradMode grad(!options.no_grad);
  std::optional<InferenceMode> inference;
  if (options.inference) inference.emplace();
  std::optional<AutocastGuard> autocast;
  if (options.autocast) autocast.emplace(kCPU, autocastDtype(*options.autocast));
  const jit::Explanation e = jit::explain(op, std::move(positional), named);
  std::cout << (options.json ? e.json() : e.text());
}

}  // namespace shunt::cli
