// diff_test [--seed N] [--op GLOB] [--dtype NAME] [--form plain|grad|autocast] [--dtypes N] [--cells N] [--landing N]
//   [--pairs N] [--cases N] [--rounds N] [--stats]
// Every operator's calls interpreted and in thunks, bit for bit: in one dtype of most operators and forms, drawn by the
// seed of tests/support/seed.h, and in all dtypes of all under SHUNT_TEST_LONG=1. --cells draws so many, 0 all;
// --landing so many but in long runs.
//
// diff_test --fuzz SECONDS [the same flags]: rounds until the time is up, all dtypes and 12 pairs of each, from a seed
// drawn by the clock unless one is given. Each round prints the seed that repeats it; a difference prints the flags
// that show it alone. Exit status 1 when anything differs, when a pair was interpreted that refused.txt does not name,
// when a line of it is idle where all dtypes were tried, or when thunks are not of the tier that SHUNT_JIT_TIER names.
#include "src/dispatch/thunk.h"
#include "tests/diff/cells.h"
#include "tests/diff/identical.h"
#include "tests/diff/refused.h"
#include "tests/parity/draft.h"
#include "tests/parity/dtypes.h"
#include "tests/parity/snippet.h"
#include "tests/support/seed.h"

#include <shunt/core/log.h>
#include <shunt/jit/jit.h>

#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <thread>

namespace diff {
namespace {

// Cells whose pairs are compiled before all thunks are dropped: bounds what is kept of the interpreter's results.
constexpr size_t kCellsAtOnce = 150;
// Of the 800 of one dtype each; a month of days has drawn nine cells in ten of all dtypes.
constexpr size_t kCellsOfALanding = 500;
// Under SHUNT_JIT_TIER=1, pairs of the first tier for each of the second, at least.
constexpr size_t kFirstToSecond = 20, kManyPairs = 100;

char current_cell[512];  // what a crash handler can print without allocating

void reportCrash(int signal) {
  const char* text = "\ncrashed in: diff_test ";
  (void)!write(2, text, strlen(text));
  (void)!write(2, current_cell, strlen(current_cell));
  (void)!write(2, "\n", 1);
  std::signal(signal, SIG_DFL);
  raise(signal);
}

class Differential {
 public:
  explicit Differential(Options options) : options_(std::move(options)), refused_(DIFF_REFUSED_LIST) {}

  bool run() {
    const std::vector<Cell> cells = planCells(options_);
    if (cells.empty()) throw std::invalid_argument("no operator, dtype and form fits the flags");
    size_t first = 0;
    for (; first < cells.size() && std::chrono::steady_clock::now() < end_; first += kCellsAtOnce) {
      const size_t last = std::min(first + kCellsAtOnce, cells.size());
      shunt::jit::set_enabled(false);
      std::vector<std::vector<Group>> groups;
      for (size_t i = first; i < last; ++i) {
        note(cells[i], "interpreting ");
        groups.push_back(drawGroups(cells[i], options_));
      }
      shunt::jit::set_enabled(true);
      for (size_t i = first; i < last; ++i) {
        note(cells[i], "");
        for (const Group& group : groups[i - first]) compare(cells[i], group);
      }
      for (const auto& [pair, reason] : unexplained_) explain(pair);
      unexplained_.clear();
    }
    shunt::jit::set_enabled(false);
    return report(std::min(first, cells.size()), first >= cells.size());
  }

  /// No batch of cells begins later than this.
  void stopAt(std::chrono::steady_clock::time_point end) { end_ = end; }

 private:
  void note(const Cell& cell, const char* what) {
    std::snprintf(current_cell, sizeof current_cell, "%s%s", what, cell.flags(options_).c_str());
  }

  void compare(const Cell& cell, const Group& group) {
    const TypedCall call = typedCall(cell.schema.name(), cell.schema.overload_name());
    // Compiles, where the first call works.
    check(cell, group, 0, nullptr);
    InForce thunk = inForce(*call.op, group.pair);
    if (thunk.code == nullptr && !group.expected.front().threw && madeRoom(cell)) {
      // Another cell, or the harness itself, had it compiled before; it made room for others, and has to get twice as
      // hot.
      shunt::jit::clear();
      check(cell, group, 0, nullptr);
      thunk = inForce(*call.op, group.pair);
    }
    ++pairs_;
    compiled_ += thunk.code != nullptr;
    refused_by_operator_ += group.expected.front().threw;
    if (thunk.code == nullptr && !group.expected.front().threw)
      unexplained_[{cell.schema.operator_name().str(), toString(cell.form)}] = "";
    for (size_t i = 0; i < group.cases.size(); ++i) check(cell, group, i, thunk.code);
    // Some of them on another thread too: the thunk was compiled on this one.
    std::thread([&] {
      for (size_t i = 0; i < group.cases.size(); i += 4) check(cell, group, i, thunk.code);
    }).join();
    // Operators that the harness itself calls (clone) have more pairs than an operator has places for.
    const InForce last = inForce(*call.op, group.pair);
    several_kinds_ += last.kinds > 1;
    if (last.code != thunk.code && last.kinds <= thunk.kinds && !madeRoom(cell))
      fail(cell, "the plan was compiled more than once for the same kinds of operands, or after the second call",
           nullptr);
  }

  /// A thunk that calls missed is replaced by one for more kinds of operands.
  struct InForce {
    const void* code = nullptr;
    int kinds = 0;
  };
  static InForce inForce(const shunt::Operator& op, PairKey pair) {
    for (const auto& t : shunt::jit::publishedThunks())
      if (t->op == &op && PairKey{t->keys, t->signature} == pair) return {t->code, t->kinds};
    return {};
  }

  static bool madeRoom(const Cell& cell) {
    const auto log = shunt::jit::invalidation_log();
    const std::string op = cell.schema.operator_name().str() + " ";
    return std::ranges::any_of(
        log, [&](const auto& r) { return r.what.starts_with(op) && r.cause.starts_with("more hot signatures"); });
  }

  void check(const Cell& cell, const Group& group, size_t i, const void* code) {
    const RunResult got = diff::run(group.cases[i], cell.form);
    ++cases_;
    if (const std::string d = firstDifference(group.expected[i], got.outcome, hasValues(cell)); !d.empty())
      fail(cell, d, &group.cases[i]);
    if (got.pair != group.pair) fail(cell, "the case was of another pair the second time", &group.cases[i]);
    // An argument that can't be converted never gets as far as the operator.
    if (code == nullptr || (!got.had_thunk && madeRoom(cell)) || (got.outcome.threw && got.calls_in_thunks == 0))
      return;
    in_thunks_ += got.calls_in_thunks;
    if (!got.had_thunk || got.calls_in_thunks == 0) fail(cell, "the thunk did not run", &group.cases[i]);
  }

  static bool hasValues(const Cell& cell) {
    const std::string_view name = parity::baseName(cell.schema.name());
    return name.find("empty") == std::string_view::npos && !name.starts_with("resize");
  }

  // Keeps the first example of each kind.
  void fail(const Cell& cell, const std::string& what, const parity::Case* c) {
    const std::string kind =
        cell.schema.operator_name().str() + " " + toString(cell.form) + ": " + what.substr(0, what.find(':'));
    if (failures_[kind]++ != 0) return;
    std::string text = c == nullptr ? "" : parity::snippetOf(*c, cell.schema);
    std::cout << "DIFFERS " << cell.schema.operator_name().str() << ' ' << toString(cell.form) << ": " << what
              << "\n  diff_test " << cell.flags(options_) << '\n'
              << text.substr(0, text.find("{  // libtorch")) << std::flush;
  }

  // Why the operator's pairs are refused: the first reason that was given.
  void explain(const std::pair<std::string, std::string>& pair) {
    if (reasons_.empty() || compiled_when_read_ != cases_) {
      reasons_.clear();
      for (const shunt::jit::PairStats& p : shunt::jit::stats().pairs)
        if (p.state == shunt::jit::PairState::kRefused || !p.reason.empty()) reasons_.emplace(p.op, p.reason);
      compiled_when_read_ = cases_;
    }
    const auto it = reasons_.find(pair.first);
    const std::string reason = it == reasons_.end() ? "nobody asked for it" : it->second;
    if (refused_.covers(pair.first, pair.second, reason)) return;
    ++failures_[pair.first + " " + pair.second + " refused"];
    std::cout << "INTERPRETED " << pair.first << ' ' << pair.second << ' ' << reason << std::endl;
  }

  /// What the first tier can't compile, the second does: few pairs.
  void checkTiers() {
    size_t first = 0, second = 0;
    for (const shunt::jit::PairStats& p : shunt::jit::stats().pairs) (p.tier == 1 ? first : second) += p.tier != 0;
    const char* wanted = std::getenv("SHUNT_JIT_TIER");
    const bool only_first = wanted != nullptr && std::string_view(wanted) == "1";
    // A few pairs may all be such.
    const bool many =
        options_.op == "*" && options_.form == "*" && options_.dtype == "*" && first + second >= kManyPairs;
    if (only_first ? second * kFirstToSecond <= first || !many : first == 0) return;
    ++failures_["tiers"];
    std::cout << "TIERS " << first << " pairs' thunks are of the first, " << second << " of the second" << std::endl;
  }

  bool report(size_t cells, bool complete) {
    // A dtype that wasn't drawn may be the only one whose pairs are refused.
    const bool all_seen = complete && options_.dtype == "*" && options_.form == "*" && options_.cells == 0 &&
                          options_.dtypes >= static_cast<int>(parity::allDtypes().size());
    for (const std::string& line : all_seen ? refused_.unused(options_.op) : std::vector<std::string>()) {
      ++failures_["idle " + line];
      std::cout << "IDLE in refused.txt, everything was compiled: " << line << '\n';
    }
    checkTiers();
    if (options_.stats) std::cout << shunt::jit::statsTable();
    std::cout << "seed " << options_.seed << ": " << cells << " cells, " << pairs_ << " pairs, " << compiled_
              << " of them compiled, " << several_kinds_ << " for several kinds of operands, " << refused_by_operator_
              << " only of calls that throw, " << cases_ << " cases, " << in_thunks_ << " calls in thunks, "
              << failures_.size() << " kinds of difference" << std::endl;
    return failures_.empty();
  }

  Options options_;
  std::chrono::steady_clock::time_point end_ = std::chrono::steady_clock::time_point::max();
  RefusedList refused_;
  std::map<std::string, int> failures_;
  std::map<std::pair<std::string, std::string>, std::string> unexplained_;
  std::map<std::string, std::string> reasons_;
  size_t pairs_ = 0, compiled_ = 0, several_kinds_ = 0, refused_by_operator_ = 0, cases_ = 0, compiled_when_read_ = 0;
  uint64_t in_thunks_ = 0;
};

struct Flags {
  Options options;
  int rounds = 1;
  int64_t fuzz_seconds = 0;
};

Flags readFlags(int argc, char** argv) {
  Flags flags;
  Options& o = flags.options;
  bool seed_given = std::getenv("SHUNT_TEST_SEED") != nullptr, breadth_given = false, cells_given = false;
  o.seed = shunt::test::drawnSeed();
  if (shunt::test::longRun()) o.dtypes = static_cast<int>(parity::allDtypes().size());
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--stats") {
      o.stats = true;
      continue;
    }
    if (i + 1 == argc)
      throw std::invalid_argument(flag + " needs a value, or is unknown; see the first lines of main.cpp");
    const std::string value = argv[++i];
    cells_given |= flag == "--cells" || flag == "--landing";
    seed_given |= flag == "--seed";
    breadth_given |= flag == "--dtypes" || flag == "--pairs";
    if (flag == "--seed")
      o.seed = std::stoull(value);
    else if (flag == "--op")
      o.op = value;
    else if (flag == "--dtype")
      o.dtype = value;
    else if (flag == "--form")
      o.form = value;
    else if (flag == "--dtypes")
      o.dtypes = std::stoi(value);
    else if (flag == "--cells")
      o.cells = std::stoull(value);
    else if (flag == "--landing")
      o.cells = shunt::test::longRun() ? 0 : std::stoull(value);
    else if (flag == "--pairs")
      o.pairs = std::stoi(value);
    else if (flag == "--cases")
      o.cases = std::stoi(value);
    else if (flag == "--rounds")
      flags.rounds = std::stoi(value);
    else if (flag == "--fuzz")
      flags.fuzz_seconds = std::stoll(value);
    else
      throw std::invalid_argument("unknown flag " + flag);
  }
  const bool narrowed = o.op != "*" || o.dtype != "*" || o.form != "*";
  if (!cells_given && !narrowed && !breadth_given && flags.fuzz_seconds == 0 && !shunt::test::longRun())
    o.cells = kCellsOfALanding;
  if (flags.fuzz_seconds > 0 && !seed_given)
    o.seed = static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  if (flags.fuzz_seconds > 0 && !breadth_given) {
    o.dtypes = static_cast<int>(parity::allDtypes().size());
    o.pairs = 12;
  }
  return flags;
}

int runRounds(Flags flags) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::seconds(flags.fuzz_seconds);
  bool good = true;
  for (int round = 0; flags.fuzz_seconds > 0 ? Clock::now() < end : round < flags.rounds;
       ++round, ++flags.options.seed) {
    Differential one(flags.options);
    if (flags.fuzz_seconds > 0) one.stopAt(end);
    good &= one.run();
  }
  return good ? 0 : 1;
}

/// Every pair is compiled by its first call, in the caller.
void compileAtOnce(char** argv) {
  if (std::getenv("SHUNT_JIT_SYNC") != nullptr) return;
  setenv("SHUNT_JIT_SYNC", "1", 1);
  setenv("SHUNT_JIT_THRESHOLD", "1", 1);
  execv("/proc/self/exe", argv);  // switches are read before main
  throw std::runtime_error("can't start itself again");
}

}  // namespace
}  // namespace diff

int main(int argc, char** argv) {
  for (const int signal : {SIGSEGV, SIGFPE, SIGABRT, SIGBUS, SIGILL}) std::signal(signal, diff::reportCrash);
  try {
    diff::compileAtOnce(argv);
    shunt::set_log_sink([](shunt::LogLevel, const char*) {});  // warnings of out= tensors that were resized
    return diff::runRounds(diff::readFlags(argc, argv));
  } catch (const std::exception& e) {
    std::cerr << "diff_test: " << e.what() << '\n';
    return 2;
  }
}
