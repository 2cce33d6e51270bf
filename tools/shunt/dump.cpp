// shunt dump: what is registered for an operator, and what follows from it.
#include "tools/shunt/command.h"

#include <shunt/core/dangling.h>

#include <iostream>
#include <memory>

namespace shunt::cli {
namespace {

/// Registrations, and the table that follows from them; of all overloads of a name that none has alone.
void printTables(const std::string& name) {
  const char* between = "";
  for (const OperatorHandle& op : findOperators(name)) {
    std::cout << between << op.dumpState() << "computed table:\n" << op.dumpComputedTable();
    between = "\n";
  }
}

}  // namespace

Command addDump(CLI::App& app) {
  struct Options {
    std::string op;
    bool fallbacks = false, dangling = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* dump = app.add_subcommand(
      "dump", "Print what is registered for an operator, and the table computed from it, with reasons");
  CLI::Option* op = dump->add_option("op", options->op, "add.Tensor, aten::add.Tensor; add: all of its overloads");
  CLI::Option* fallbacks =
      dump->add_flag("--fallbacks", options->fallbacks, "Print the fallbacks, which serve every operator, instead");
  CLI::Option* dangling =
      dump->add_flag("--dangling", options->dangling, "Print the kernels of operators that nobody defined, instead");
  fallbacks->excludes(op)->excludes(dangling);
  dangling->excludes(op);
  return {dump, [options] {
            if (options->op.empty() && !options->fallbacks && !options->dangling)
              throw Mistake("name an operator, or --fallbacks or --dangling");
            if (options->fallbacks)
              std::cout << Dispatcher::singleton().dumpFallbacks();
            else if (options->dangling)
              std::cout << dumpDanglingImpls();
            else
              printTables(options->op);
            return 0;
          }};
}

}  // namespace shunt::cli
