// parity_programs_test [--programs N] [--seed N] [--program N] [--failures N]
// Random programs on Shunt and on libtorch: aliases, in-place changes, hooks, custom functions, retained and second
// gradients, autocast, inference mode, C++ operators. Each is run on both, step by step; errors, results, histories and
// gradients are compared. A difference is made small and printed as code. Exit status 1 when one is not in
// known_differences.txt, or a line of it is not met by the default seed's programs.
#include "tests/parity/dtypes.h"
#include "tests/parity/known_differences.h"
#include "tests/parity/messages.h"
#include "tests/parity/rules.h"
#include "tests/parity_programs/draw.h"
#include "tests/support/seed.h"

#include <shunt/core/log.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>

namespace parity_programs {
namespace {

struct Difference {
  std::string what, detail;
};

bool close(int dtype, double epsilon, double x, double y, double largest) {
  if (x == y || (std::isnan(x) && std::isnan(y))) return true;
  if (!parity::isFloating(dtype) || !std::isfinite(x) || !std::isfinite(y)) return false;
  return std::abs(x - y) <= 16 * epsilon * std::max(largest, 1.0);
}

double roundingOf(int dtype) { return parity::isFloating(dtype) ? parity::epsilonOf(dtype) : 0; }

// How coarsely what each slot holds may have been rounded: also by what it was computed or changed from.
std::vector<double> roundings(const Program& p, const Outcome& outcome) {
  std::vector<double> result;
  for (const Slot& s : outcome.slots) result.push_back(roundingOf(s.dtype));
  for (size_t i = 0; i < p.steps.size(); ++i) {
    const Step& step = p.steps[i];
    if (step.row < 0) continue;
    const RowInfo& info = shuntRows()[static_cast<size_t>(step.row)];
    double& to = result[info.makes ? p.inputs.size() + i : static_cast<size_t>(step.a)];
    if (info.uses_a) to = std::max(to, result[static_cast<size_t>(step.a)]);
    if (info.uses_b) to = std::max(to, result[static_cast<size_t>(step.b)]);
    // What was rounded before is larger after exp by the operand, and beside a quotient that was taken off.
    for (const char* row : {"exp(", "fmod(", "remainder("})
      if (info.code.find(row) != std::string::npos) to = std::max(to, std::min(64 * to, 0x1p-9));
  }
  return result;
}

class Comparison {
 public:
  Comparison(const Program& p, const Outcome& shunt, const Outcome& torch)
      : program_(p), shunt_(shunt), torch_(torch) {}

  // The first: what comes after may follow from it.
  std::optional<Difference> first() {
    for (size_t i = 0; i < shunt_.errors.size() && !found_; ++i) error(i);
    const std::vector<double> epsilon = roundings(program_, shunt_);
    const double coarsest = epsilon.empty() ? 0 : *std::ranges::max_element(epsilon);
    for (size_t i = 0; i < shunt_.slots.size() && !found_; ++i)
      slot("t" + std::to_string(i), shunt_.slots[i], torch_.slots[i], epsilon[i]);
    for (size_t i = 0; i < shunt_.grads.size() && !found_; ++i)
      slot("grad of t" + std::to_string(i), shunt_.grads[i], torch_.grads[i], coarsest);
    return found_;
  }

 private:
  bool autocast() const {
    return std::ranges::any_of(program_.steps, [](const Step& s) { return s.autocast && s.row >= 0; });
  }
  void error(size_t i) {
    const std::string &s = shunt_.errors[i], &t = torch_.errors[i];
    const std::string where = "step t" + std::to_string(program_.inputs.size() + i) + ": ";
    if (s.empty() != t.empty())
      found_ = {s.empty() ? "torch_throws" : "shunt_throws", where + (s.empty() ? t : s)};
    else if (!parity::sameMessage(s, t))
      found_ = {"message", where + "\n    Shunt:    " + s.substr(0, 300) + "\n    libtorch: " + t.substr(0, 300)};
  }
  void slot(const std::string& where, const Slot& s, const Slot& t, double epsilon) {
    const auto differ = [&](const char* what, const std::string& a, const std::string& b) {
      if (!found_ && a != b) found_ = {what, where + ": Shunt " + a + ", libtorch " + b};
    };
    differ("defined", std::to_string(s.defined), std::to_string(t.defined));
    if (found_ || !s.defined) return;
    differ("dtype", parity::dtypeName(s.dtype), parity::dtypeName(t.dtype));
    differ("facts", s.facts, t.facts);
    // Where the cast's node stands depends on whether Autocast or Autograd comes first (docs/precedence.md).
    if (!autocast()) differ("grad_fn", s.grad_fn, t.grad_fn);
    if (found_ || s.values.size() != t.values.size()) return;
    double largest = 0;
    for (const double v : t.values)
      if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
    for (size_t k = 0; k < s.values.size(); ++k)
      if (!close(s.dtype, autocast() ? parity::epsilonOf(15) : epsilon, s.values[k], t.values[k], largest))
        differ("values", std::to_string(s.values[k]) + " at " + std::to_string(k), std::to_string(t.values[k]));
  }

  const Program& program_;
  const Outcome &shunt_, &torch_;
  std::optional<Difference> found_;
};

std::optional<Difference> compare(const Program& p) { return Comparison(p, runShunt(p), runTorch(p)).first(); }

class Run {
 public:
  int run(uint64_t first, uint64_t programs, size_t failures, bool idle_fails) {
    size_t steps = 0, refused = 0;
    for (uint64_t seed = first; seed < first + programs; ++seed) {
      current = seed;
      const Program p = draw(seed);
      const Outcome shunt = runShunt(p);
      steps += p.steps.size();
      refused +=
          static_cast<size_t>(std::ranges::count_if(shunt.errors, [](const std::string& e) { return !e.empty(); }));
      const auto d = Comparison(p, shunt, runTorch(p)).first();
      if (d) note(p, *d, seed);
    }
    size_t shown = 0;
    for (const auto& [key, f] : failures_)
      std::cout << "DIFFERS " << f.count << "x [" << f.what << "] --program " << f.seed << '\n'
                << (shown++ < failures ? f.text : "") << '\n';
    size_t idle = 0;
    for (const parity::KnownDifference& k : known_.lines())
      if (k.hits.empty() && !k.reason.starts_with("rare:") && ++idle > 0)
        std::cout << "known difference not met, line " << k.line << '\n';
    std::cout << "seed " << first << ": " << programs << " programs, " << steps << " steps, " << refused
              << " of them refused, " << failures_.size() << " kinds of difference" << std::endl;
    return failures_.empty() && refused < steps / 4 && (idle == 0 || !idle_fails) ? 0 : 1;
  }
  static inline volatile uint64_t current = 0;

 private:
  struct Failure {
    std::string what, text;
    uint64_t seed = 0;
    int count = 0;
  };

  void note(const Program& p, const Difference& d, uint64_t seed) {
    const Program small = shrunk(p, [&](const Program& smaller) {
      const auto other = compare(smaller);
      return other && other->what == d.what;
    });
    const Difference again = *compare(small);
    const std::string code = codeOf(small);
    if (known_.coversText(code, again.what, again.detail)) return;
    // By the rows of the small program: one kind of difference.
    std::string kind = again.what;
    for (const Step& s : small.steps)
      if (s.row >= 0) kind += " | " + shuntRows()[static_cast<size_t>(s.row)].code;
    Failure& f = failures_[kind];
    if (f.count++ == 0) f = {again.what, "  " + again.detail + "\n" + code, seed, 1};
  }

  parity::KnownDifferences known_{PARITY_PROGRAMS_KNOWN_DIFFERENCES};
  std::map<std::string, Failure> failures_;
};

void reportCrash(int signal) {
  std::cerr << "crashed in: parity_programs_test --program " << Run::current << std::endl;
  std::signal(signal, SIG_DFL);
  raise(signal);
}

int runAll(int argc, char** argv) {
  constexpr uint64_t kSeed = 20779, kPrograms = 1000;
  uint64_t seed = shunt::test::seedOfComparison(kSeed), programs = shunt::test::longRun() ? 50000 : kPrograms, one = 0;
  size_t failures = 40;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    const uint64_t value = std::stoull(argv[i + 1]);
    if (flag == "--seed")
      seed = value;
    else if (flag == "--programs")
      programs = value;
    else if (flag == "--program")
      one = value;
    else if (flag == "--failures")
      failures = value;
    else
      throw std::invalid_argument("unknown flag " + flag);
  }
  std::cout << "SHUNT_TEST_SEED=" << seed << std::endl;
  // Other programs may meet fewer.
  if (one == 0) return Run().run(seed * 1000000 + 1, programs, failures, seed == kSeed && programs == kPrograms);
  const Program p = draw(one);
  std::cout << codeOf(p);
  if (const auto d = compare(p)) std::cout << d->what << ": " << d->detail << '\n';
  return Run().run(one, 1, failures, false);
}

}  // namespace
}  // namespace parity_programs

int main(int argc, char** argv) {
  for (const int signal : {SIGSEGV, SIGFPE, SIGABRT, SIGBUS, SIGILL}) std::signal(signal, parity_programs::reportCrash);
  try {
    parity_programs::setUpTorch();
    shunt::set_log_sink([](shunt::LogLevel, const char*) {});
    return parity_programs::runAll(argc, argv);
  } catch (const std::exception& e) {
    std::cerr << "parity_programs_test: " << e.what() << '\n';
    return 2;
  }
}
