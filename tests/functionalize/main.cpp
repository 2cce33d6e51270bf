// functional_parity_test [--seed N] [--rounds N] [--op GLOB] [--dtype NAME] [--form plain|grad] [--failures N]
// Draws calls of every operator of the dictionary as the parity test does, runs each plain and functionalized
// (arguments wrapped, with their aliases), and compares. Exit status 1 when anything differs that known_differences.txt
// does not name, or, in a long run (tests/support/seed.h), a line of it is idle, or the calls below wrote.
#include "tests/functionalize/compare.h"
#include "tests/parity/draft.h"
#include "tests/parity/dtypes.h"
#include "tests/parity/snippet.h"
#include "tests/support/seed.h"
#include "tests/support/table_file.h"

#include <shunt/core/dispatcher.h>
#include <shunt/core/log.h>

#include <unistd.h>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <map>
#include <set>

namespace parity {

Outcome runModel(const Case& c) { return runShunt(c); }

}  // namespace parity

namespace functional {
namespace {

struct Options {
  uint64_t seed = shunt::test::seedOfComparison(20251122);
  int rounds = shunt::test::longRun() ? 16 : 4;
  std::string op = "*", dtype = "*", form = "*";
  size_t failures = 30;
};

Options parseOptions(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; i += 2) {
    const std::string flag = argv[i];
    if (i + 1 == argc) throw std::invalid_argument(flag + " needs a value");
    const std::string value = argv[i + 1];
    if (flag == "--seed")
      o.seed = std::stoull(value);
    else if (flag == "--rounds")
      o.rounds = std::stoi(value);
    else if (flag == "--op")
      o.op = value;
    else if (flag == "--dtype")
      o.dtype = value;
    else if (flag == "--form")
      o.form = value;
    else if (flag == "--failures")
      o.failures = std::stoull(value);
    else
      throw std::invalid_argument("unknown flag " + flag);
  }
  return o;
}

// operator (globs, commas) | what | part of the detail, or * | reason
struct Known {
  std::string op, what, detail;
  int line, hits = 0;
};

std::vector<Known> readKnown(const std::string& path) {
  std::vector<Known> out;
  for (const auto& [columns, where, line] : shunt::test::readTable(path, "operator | what | detail | reason"))
    out.push_back({columns[0], columns[1], columns[2], line, 0});
  return out;
}

bool hasMixedDtypes(const parity::Case& c) {
  std::set<int> dtypes;
  for (const parity::TensorSpec& t : c.tensors)
    if (t.defined) dtypes.insert(c.storages[static_cast<size_t>(t.storage)].dtype);
  return dtypes.size() > 1;
}

char current_case[512];  // what a crash handler can print without allocating

void reportCrash(int signal) {
  const char* text = "\ncrashed in: functional_parity_test ";
  (void)!write(2, text, strlen(text));
  (void)!write(2, current_case, strlen(current_case));
  (void)!write(2, "\n", 1);
  std::signal(signal, SIG_DFL);
  raise(signal);
}

class Run {
 public:
  explicit Run(Options options) : options_(std::move(options)), known_(readKnown(FUNCTIONAL_KNOWN_DIFFERENCES)) {}

  int run() {
    for (int round = 0; round < options_.rounds; ++round)
      for (const shunt::OperatorName& name : shunt::Dispatcher::singleton().getAllOpNames()) {
        const auto op = shunt::Dispatcher::singleton().findSchema(name);
        if (op && name.getNamespace() == "aten" && name.name != "aten::_local_scalar_dense" &&
            parity::globMatches(options_.op, name.str()))
          drawAll(op->schema(), round);
      }
    return report();
  }

 private:
  void drawAll(const shunt::FunctionSchema& schema, int round) {
    const bool tensors = std::ranges::any_of(
        schema.arguments(), [](const auto& a) { return a.type.kind == shunt::TypeKind::Tensor && !a.is_out(); });
    const bool differentiable = tensors && !schema.isOut() &&
                                !(parity::ruleFor(schema.name(), schema.overload_name()).flags & parity::kNoGradForm);
    for (const bool grad : {false, true})
      for (const int dtype : parity::allDtypes()) {
        if (grad && (!differentiable || !parity::isFloating(dtype))) continue;
        if (parity::globMatches(options_.dtype, parity::dtypeName(dtype)) &&
            parity::globMatches(options_.form, grad ? "grad" : "plain"))
          drawOne(schema, dtype, grad, round);
      }
  }

  void drawOne(const shunt::FunctionSchema& schema, int dtype, bool grad, int round) {
    const std::string name = schema.operator_name().str();
    const std::string flags = "--seed " + std::to_string(options_.seed) + " --op " + name + " --dtype " +
                              parity::dtypeName(dtype) + " --form " + (grad ? "grad" : "plain") + " --rounds " +
                              std::to_string(options_.rounds);
    std::snprintf(current_case, sizeof current_case, "%s", flags.c_str());
    const parity::Case c = parity::drawCase(
        schema, dtype, grad, round == 0,
        parity::hashOf(name + parity::dtypeName(dtype) + (grad ? "g" : "p") + std::to_string(round), options_.seed));
    const parity::Outcome plain = parity::runShunt(c), functional = runFunctional(c);
    ++cases_;
    threw_ += plain.threw;
    const bool values = (parity::ruleFor(c.name, c.overload).flags & parity::kMetadataOnly) == 0;
    for (Difference d : differences(plain, functional, values)) {
      if (hasMixedDtypes(c)) d.detail += ", mixed dtypes";
      if (known(name.substr(6), d)) continue;
      Failure& f = failures_[name + " [" + d.what + "]"];
      const std::string text = d.detail + "\n  functional_parity_test " + flags + "\n" + parity::snippetOf(c, schema);
      if (f.count++ == 0 || text.size() < f.text.size()) f.text = text;
    }
  }

  bool known(const std::string& op, const Difference& d) {
    for (Known& k : known_)
      if (parity::anyGlobMatches(k.op, op) && parity::anyGlobMatches(k.what, d.what) &&
          shunt::test::containsParts(d.detail, k.detail))
        return ++k.hits;
    return false;
  }

  int report() {
    size_t printed = 0;
    for (const auto& [key, f] : failures_)
      std::cout << "\nDIFFERS " << key << ' ' << f.count << "x\n  "
                << (printed++ < options_.failures ? f.text : f.text.substr(0, f.text.find('\n')) + "\n");
    bool idle = false;
    for (const Known& k : known_)
      if (k.hits == 0 && shunt::test::longRun() && options_.op == "*" && options_.dtype == "*" && options_.form == "*")
        idle = true, std::cout << "known difference not met, line " << k.line << ": " << k.op << ' ' << k.what << '\n';
    std::cout << "\nseed " << options_.seed << ": " << cases_ << " cases, " << threw_ << " of them refused, "
              << failures_.size() << " kinds of difference\n";
    return failures_.empty() && !idle ? 0 : 1;
  }

  struct Failure {
    std::string text;
    int count = 0;
  };
  Options options_;
  std::vector<Known> known_;
  std::map<std::string, Failure> failures_;
  int cases_ = 0, threw_ = 0;
};

}  // namespace
}  // namespace functional

int main(int argc, char** argv) {
  for (const int signal : {SIGSEGV, SIGFPE, SIGABRT, SIGBUS, SIGILL}) std::signal(signal, functional::reportCrash);
  try {
    return functional::Run(functional::parseOptions(argc, argv)).run();
  } catch (const std::exception& e) {
    std::cerr << "functional_parity_test: " << e.what() << '\n';
    return 2;
  }
}
