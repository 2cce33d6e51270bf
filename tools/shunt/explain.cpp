// shunt explain: what one call does, or what happened to the pairs of a program's report.
#include <shunt/jit/explain.h>

#include <nlohmann/json.hpp>

#include <iostream>
#include <memory>

#include "tools/shunt/call.h"
#include "tools/shunt/command.h"
#include "tools/shunt/value.h"

namespace shunt::cli {
namespace {

struct Options : CallOptions {
  std::string report;
  bool json = false;
};

void explainReport(const Options& options) {
  jit::Stats all = readReport(options.report), of = all;
  const std::string name = withNamespace(options.op);
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

std::string withThrows(const std::string& json, const std::string& throws) {
  auto out = nlohmann::ordered_json::parse(json);
  out["throws"] = throws.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(throws);
  return out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

void explainCall(const Options& options) {
  const CallArguments arguments = parseArguments(options.arguments, Elements::kNone);
  const OperatorHandle op = pickOperator(options.op, arguments);
  const CallModes modes(options);
  const jit::Explanation e = jit::explain(op, arguments.positional, arguments.named);
  const std::string throws = whyCallThrows(op, arguments);
  if (options.json)
    std::cout << withThrows(e.json(), throws);
  else
    std::cout << e.text() << (throws.empty() ? "" : "the call would throw: " + throws + "\n");
}

}  // namespace

Command addExplain(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* explain = app.add_subcommand("explain", "Show what a call does, and why it is compiled or is not");
  addCallOptions(*explain, *options);
  explain
      ->add_option("-r,--report", options->report,
                   "Explain the pairs of a program that runs or ran, by its report, instead")
      ->type_name("FILE")
      ->check(notEmpty("a file name"))
      ->excludes("--arg");
  explain->add_flag("--json", options->json, "Print it as JSON");
  return {explain, [options] {
            options->report.empty() ? explainCall(*options) : explainReport(*options);
            return 0;
          }};
}

}  // namespace shunt::cli
