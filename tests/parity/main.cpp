// parity_test [--seed N] [--cases N] [--op GLOB] [--dtype NAME] [--form plain|grad] [--round N] [--failures N] [--hits]
// [--refusals] [--print]
//   [--reference]: says of each difference how Shunt compares with float64
// By default the seed is seedOfComparison (tests/support/seed.h), and there are 12,000 cases, 200,000 under
// SHUNT_TEST_LONG=1. Draws calls of the operators that Shunt and libtorch share, runs both, compares. Exit status 1
// when anything differs that is not a known difference, when schemas disagree, or when a cell of operator x dtype x
// form had no case.
#include "tests/parity/compare.h"
#include "tests/parity/coverage.h"
#include "tests/parity/draft.h"
#include "tests/parity/dtypes.h"
#include "tests/parity/known_differences.h"
#include "tests/parity/reference.h"
#include "tests/parity/schemas.h"
#include "tests/parity/snippet.h"
#include "tests/support/seed.h"

#include <shunt/core/log.h>

#include <unistd.h>
#include <algorithm>
#include <csignal>
#include <cstring>
#include <iostream>
#include <map>
#include <optional>

namespace parity {

Outcome runModel(const Case& c) { return runTorch(c); }

namespace {

struct Options {
  uint64_t seed = shunt::test::seedOfComparison(20240607);
  size_t cases = shunt::test::longRun() ? 200000 : 12000;
  std::string op = "*", dtype = "*", form = "*";
  int64_t round = -1;
  size_t failures = 40;
  bool hits = false, refusals = false, print = false, reference = false;
};

Options parseOptions(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (bool* set = flag == "--hits"        ? &o.hits
                    : flag == "--refusals"  ? &o.refusals
                    : flag == "--print"     ? &o.print
                    : flag == "--reference" ? &o.reference
                                            : nullptr) {
      *set = true;
      continue;
    }
    if (i + 1 == argc)
      throw std::invalid_argument(flag + " needs a value, or is unknown; see the first lines of main.cpp");
    const std::string value = argv[++i];
    if (flag == "--seed")
      o.seed = std::stoull(value);
    else if (flag == "--cases")
      o.cases = std::stoull(value);
    else if (flag == "--op")
      o.op = value;
    else if (flag == "--dtype")
      o.dtype = value;
    else if (flag == "--form")
      o.form = value;
    else if (flag == "--round")
      o.round = std::stoll(value);
    else if (flag == "--failures")
      o.failures = std::stoull(value);
    else
      throw std::invalid_argument("unknown flag " + flag);
  }
  return o;
}

// What a crash handler can print without allocating.
char current_case[512];

void reportCrash(int signal) {
  const char* text = "\ncrashed in: parity_test ";
  (void)!write(2, text, strlen(text));
  (void)!write(2, current_case, strlen(current_case));
  (void)!write(2, "\n", 1);
  std::signal(signal, SIG_DFL);
  raise(signal);
}

class Run {
 public:
  Run(Options options, SchemaReport schemas)
      : options_(std::move(options)),
        schemas_(std::move(schemas)),
        known_(PARITY_KNOWN_DIFFERENCES),
        coverage_(names(), planCells()) {}

  int run() {
    reportSchemas();
    drawAll();
    return reportAll();
  }

 private:
  struct Failure {
    std::string op, what, text;
    int count = 0;
  };

  /// Whether an operator without a call that ran is one of which few do.
  static bool isExpected(const std::string& hole) {
    if (!hole.ends_with("was refused")) return false;
    const std::string name = hole.substr(6, hole.find_first_of(" :", 6) - 6);
    const size_t dot = name.find('.');
    const std::string overload = dot == name.npos ? "" : name.substr(dot + 1);
    return (ruleFor("aten::" + name.substr(0, dot), overload).flags & kRarelyRuns) != 0;
  }

  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& s : schemas_.common) all.push_back(s.operator_name().str());
    return all;
  }

  std::vector<Cell> planCells() {
    for (size_t op = 0; op < schemas_.common.size(); ++op) {
      const shunt::FunctionSchema& schema = schemas_.common[op];
      if (!globMatches(options_.op, schema.operator_name().str()) &&
          !globMatches(options_.op, schema.operator_name().str().substr(6)))
        continue;
      bool tensors = false;
      for (const auto& a : schema.arguments()) tensors |= a.type.kind == shunt::TypeKind::Tensor && !a.is_out();
      const bool differentiable =
          tensors && !schema.isOut() && !(ruleFor(schema.name(), schema.overload_name()).flags & kNoGradForm);
      for (const bool grad : {false, true})
        for (const int dtype : allDtypes()) {
          if (grad && (!differentiable || !isFloating(dtype))) continue;
          if (!globMatches(options_.dtype, dtypeName(dtype)) || !globMatches(options_.form, grad ? "grad" : "plain"))
            continue;
          cells_.push_back({op, dtype, grad});
        }
    }
    return cells_;
  }

  static bool unasked() { return false; }  // there are no values to confirm

  void reportSchemas() {
    for (const auto& m : schemas_.mismatches)
      if (!knownSchema(m.schema, "schema"))
        fail(m.schema.operator_name().str(), "schema",
             "Shunt    " + m.schema.str() + "\nlibtorch " + m.libtorch + "\n");
    for (const auto& s : schemas_.unknown)
      if (!knownSchema(s, "unknown"))
        fail(s.operator_name().str(), "unknown", "libtorch has no such operator: " + s.str() + "\n");
    for (const auto& m : schemas_.missing) {
      Case c;
      c.name = m.name;
      c.overload = m.overload;
      if (known_.covers(c, "*", {"missing", m.schema}, unasked) == nullptr)
        fail(m.name + "." + m.overload, "missing", "Shunt lacks " + m.schema + "\n");
    }
  }
  bool knownSchema(const shunt::FunctionSchema& s, const std::string& what) const {
    Case c;
    c.name = s.name();
    c.overload = s.overload_name();
    return known_.covers(c, "*", {what, s.str()}, unasked) != nullptr;
  }

  void drawAll() {
    if (cells_.empty()) throw std::invalid_argument("no operator, dtype and form fits the flags");
    std::vector<size_t> order(cells_.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    Rng rng(options_.seed);
    int64_t round = std::max<int64_t>(options_.round, 0);
    for (size_t drawn = 0; drawn < options_.cases; ++round) {
      rng.shuffle(order);  // the last round is not whole
      for (size_t k = 0; k < order.size() && drawn < options_.cases; ++k, ++drawn) drawOne(order[k], round);
      if (options_.round >= 0) break;
    }
  }

  void drawOne(size_t index, int64_t round) {
    const Cell& cell = cells_[index];
    const shunt::FunctionSchema& schema = schemas_.common[cell.op];
    const std::string name = schema.operator_name().str(), dtype = dtypeName(cell.dtype),
                      form = cell.with_grad ? "grad" : "plain";
    const std::string flags = "--seed " + std::to_string(options_.seed) + " --op " + name + " --dtype " + dtype +
                              " --form " + form + " --round " + std::to_string(round);
    std::snprintf(current_case, sizeof current_case, "%s", flags.c_str());
    const Case c = drawCase(schema, cell.dtype, cell.with_grad, round == 0, hashOf(flags, 0));
    if (options_.print) std::cout << snippetOf(c, schema) << std::flush;
    const Outcome torch = runTorch(c), shunt = runShunt(c);
    CellHits& hits = coverage_.hits(index);
    ++hits.drawn;
    hits.ran += !shunt.threw && !torch.threw;
    hits.requires_grad += anyRequiresGrad(shunt) && anyRequiresGrad(torch);
    hits.backward += (hasGradients(shunt) && hasGradients(torch)) ||
                     (lacksDerivative(shunt.backward_error) && lacksDerivative(torch.backward_error));
    ++drawn_;
    if (options_.refusals && torch.threw)
      ++refusals_[name + ": " + torch.error.substr(0, std::min(torch.error.find('\n'), size_t{160}))];
    for (const Difference& d : compareOutcomes(c, shunt, torch)) {
      std::optional<std::string> reference;
      const auto confirmed = [&] {
        if (!reference) {
          reference.emplace();
          for (const Difference& r : compareToReference(c, schema, shunt, torch))
            *reference += "\n  against float64 [" + r.what + "] " + r.detail;
        }
        return reference->empty();
      };
      if (known_.covers(c, dtype, d, confirmed) != nullptr) {
        hits.refused_as_known += d.what.ends_with("throws");
        hits.backward_known += d.what.find("backward") != std::string::npos;
        continue;
      }
      if (options_.reference) confirmed();
      fail(name, d.what, d.detail + reference.value_or("") + "\n  parity_test " + flags + "\n" + snippetOf(c, schema));
    }
  }

  static bool hasGradients(const Outcome& o) { return o.ran_backward && !o.backward_threw; }
  static bool anyRequiresGrad(const Outcome& o) {
    return std::ranges::any_of(
        o.returns, [](const Returned& r) { return std::ranges::any_of(r.tensors, &TensorState::requires_grad); });
  }

  // Keeps the shortest example of each kind.
  void fail(const std::string& op, const std::string& what, std::string text) {
    Failure& f = failures_[op + " " + what];
    if (f.count++ == 0 || text.size() < f.text.size()) f = {op, what, std::move(text), f.count};
  }

  int reportAll() {
    if (options_.hits) coverage_.print(std::cout);
    for (const auto& [message, count] : refusals_) std::cout << "refused " << count << "x " << message << '\n';
    size_t printed = 0;
    for (const auto& [key, f] : failures_) {
      std::cout << "\nDIFFERS " << f.op << " [" << f.what << "] " << f.count << "x\n  ";
      if (printed++ < options_.failures)
        std::cout << f.text;
      else
        std::cout << f.text.substr(0, f.text.find('\n')) << '\n';
    }
    std::vector<std::string> holes = options_.round < 0 ? coverage_.holes() : std::vector<std::string>();
    std::erase_if(holes, isExpected);
    for (const std::string& hole : holes) std::cout << "HOLE " << hole << '\n';
    int open = 0;
    for (const KnownDifference& k : known_.lines()) {
      if (k.reason.starts_with("open:"))
        for (const auto& [op, times] : k.hits) open += times;
      if (options_.hits && !k.hits.empty()) {
        std::cout << "known difference met, line " << k.line << ':';
        for (const auto& [op, times] : k.hits) std::cout << ' ' << op << ' ' << times << 'x';
        std::cout << '\n';
      }
      if (k.hits.empty() && options_.op == "*")
        std::cout << "known difference not met, line " << k.line << ": " << k.op << " " << k.what << '\n';
    }
    std::cout << "\nseed " << options_.seed << ": " << drawn_ << " cases, " << coverage_.fewest() << " to "
              << coverage_.most() << " in each of " << cells_.size() << " cells of " << schemas_.common.size()
              << " operators, " << failures_.size() << " kinds of difference, " << holes.size() << " holes, " << open
              << " known differences to be fixed\n";
    return failures_.empty() && holes.empty() ? 0 : 1;
  }

  Options options_;
  SchemaReport schemas_;
  KnownDifferences known_;
  std::vector<Cell> cells_;
  Coverage coverage_;
  std::map<std::string, Failure> failures_;
  std::map<std::string, int> refusals_;
  size_t drawn_ = 0;
};

}  // namespace
}  // namespace parity

int main(int argc, char** argv) {
  for (const int signal : {SIGSEGV, SIGFPE, SIGABRT, SIGBUS, SIGILL}) std::signal(signal, parity::reportCrash);
  try {
    parity::setUpTorch();
    shunt::set_log_sink([](shunt::LogLevel, const char*) {});  // warnings of out= tensors that were resized
    return parity::Run(parity::parseOptions(argc, argv), parity::compareSchemas()).run();
  } catch (const std::exception& e) {
    std::cerr << "parity_test: " << e.what() << '\n';
    return 2;
  }
}
