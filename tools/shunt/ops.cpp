// shunt ops: which operators there are.
#include "tools/shunt/command.h"

#include <iostream>
#include <memory>

namespace shunt::cli {
namespace {

void printOperators(const std::string& filter, bool schemas) {
  size_t n = 0;
  for (const OperatorName& name : Dispatcher::singleton().getAllOpNames()) {
    if (name.str().find(filter) == std::string::npos) continue;
    ++n;
    const auto op = Dispatcher::singleton().findSchema(name);
    if (schemas && op)
      std::cout << op->schema() << '\n';
    else
      std::cout << name << (op ? "" : "  (kernels without a definition)") << '\n';
  }
  SHUNT_CHECK(n != 0, "no operator's name contains '", filter, "'");
}

}  // namespace

Command addOps(CLI::App& app) {
  struct Options {
    std::string filter;
    bool schemas = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* ops = app.add_subcommand("ops", "List operators");
  ops->add_option("filter", options->filter, "Only those whose name contains this");
  ops->add_flag("-s,--schemas", options->schemas, "Print their schemas");
  return {ops, [options] {
            printOperators(options->filter, options->schemas);
            return 0;
          }};
}

}  // namespace shunt::cli
