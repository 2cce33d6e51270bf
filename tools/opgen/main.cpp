// opgen: generates the operators' code, or their documentation, from kernels/operators/*.yaml.
//
//   opgen --yaml-dir <dir> --out <dir>      headers and sources
//   opgen --yaml-dir <dir> --docs <file>    the table of operators
#include "tools/opgen/emitters/emit.h"
#include "tools/opgen/model/aliases.h"
#include "tools/opgen/model/dictionary.h"
#include "tools/opgen/model/yaml_files.h"

#include <shunt/core/error.h>

#include <cstdio>
#include <cstring>
#include <exception>
#include <string>

namespace {

struct Options {
  std::string yaml_dir, out, docs;
};

Options parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; i += 2) {
    std::string* target = std::strcmp(argv[i], "--out") == 0        ? &o.out
                          : std::strcmp(argv[i], "--docs") == 0     ? &o.docs
                          : std::strcmp(argv[i], "--yaml-dir") == 0 ? &o.yaml_dir
                                                                    : nullptr;
    SHUNT_CHECK(target != nullptr, "opgen: unknown option ", argv[i]);
    SHUNT_CHECK(i + 1 < argc, "opgen: ", argv[i], " needs a value");
    *target = argv[i + 1];
  }
  SHUNT_CHECK(!o.yaml_dir.empty() && (!o.out.empty() || !o.docs.empty()),
              "usage: opgen --yaml-dir <dir> [--out <dir>] [--docs <file>]");
  return o;
}

void run(const Options& options) {
  using namespace opgen;
  const YamlFiles files = findYamlFiles(options.yaml_dir);
  Dictionary dictionary = readDictionary(files.operators);
  readAliases(files.aliases, dictionary);
  const Derivatives derivatives = readDerivatives(files.derivatives, dictionary);
  const std::vector<AutocastRule> rules = readAutocast(files.autocast, dictionary);
  const BatchRules batching = readBatching(files.batching, dictionary);
  const Docs docs = readDocs(files.docs, dictionary);
  if (!options.out.empty()) emitAll(dictionary, derivatives, rules, batching, docs, Output(options.out));
  if (!options.docs.empty()) Output("").write(options.docs, operatorTable(dictionary, rules, batching));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(parse(argc, argv));
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
