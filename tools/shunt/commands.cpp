#include "tools/shunt/commands.h"

#include <fstream>
#include <iostream>
#include <iterator>

namespace shunt::cli {

OperatorHandle findOperator(const std::string& text) {
  const OperatorName name = parseName(text.find("::") == std::string::npos ? "aten::" + text : text);
  return Dispatcher::singleton().findSchemaOrThrow(name.name.c_str(), name.overload_name.c_str());
}

jit::Stats readReport(const std::string& file) {
  std::ifstream in(file);
  SHUNT_CHECK(in.good(), "can't read ", file);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  try {
    return jit::statsFromJson(text);
  } catch (const Error& e) {
    throw Error(file + ": " + e.what());
  }
}

void printStats(const std::string& file, bool json) {
  const jit::Stats stats = readReport(file);
  std::cout << (json ? jit::statsJson(stats) : jit::statsTable(stats));
}

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

void printTables(const std::string& text) {
  SHUNT_CHECK(!text.empty(), "name an operator, or --fallbacks");
  const OperatorHandle op = findOperator(text);
  std::cout << op.dumpState() << "computed table:\n" << op.dumpComputedTable();
}

void printFallbacks() { std::cout << Dispatcher::singleton().dumpFallbacks(); }

}  // namespace shunt::cli
