// opgen: generates the operators' code from kernels/*.yaml.
//
//   opgen --out <dir> --yaml-dir <dir> [--allow-missing-derivatives]
#include "kernels/opgen/dictionary.h"
#include "kernels/opgen/emit.h"

#include <shunt/core/error.h>

#include <cstdio>
#include <cstring>
#include <exception>
#include <string>

namespace {

struct Options {
  std::string out, yaml_dir;
  bool allow_missing_derivatives = false;
};

Options parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const auto value = [&] {
      SHUNT_CHECK(i + 1 < argc, "opgen: ", argv[i], " needs a value");
      return std::string(argv[++i]);
    };
    if (std::strcmp(argv[i], "--out") == 0) o.out = value();
    else if (std::strcmp(argv[i], "--yaml-dir") == 0) o.yaml_dir = value();
    else if (std::strcmp(argv[i], "--allow-missing-derivatives") == 0) o.allow_missing_derivatives = true;
    else SHUNT_CHECK(false, "opgen: unknown option ", argv[i]);
  }
  SHUNT_CHECK(!o.out.empty() && !o.yaml_dir.empty(), "usage: opgen --out <dir> --yaml-dir <dir>");
  return o;
}

void run(const Options& options) {
  using namespace opgen;
  Dictionary dictionary = readDictionary(options.yaml_dir + "/native_functions.yaml");
  const Derivatives derivatives =
      readDerivatives(options.yaml_dir + "/derivatives.yaml", dictionary, options.allow_missing_derivatives);
  const Output out(options.out);
  Registrations registrations;
  emitDeclarations(dictionary, out);
  emitPublicApi(dictionary, out);
  emitNativeDeclarations(dictionary, out);
  emitOperators(dictionary, out);
  emitBackend(dictionary, out, registrations);
  emitBackendSelect(dictionary, out, registrations);
  emitInplaceOrView(dictionary, out, registrations);
  emitNodes(derivatives, out);
  emitAutograd(dictionary, out, registrations);
  emitAutocast(readAutocast(options.yaml_dir + "/autocast.yaml", dictionary), out, registrations);
  emitRegistrations(dictionary, out, registrations);
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
