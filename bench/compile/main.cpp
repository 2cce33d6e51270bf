// bench_compile: compiled functions against the functions themselves, eager, in one process, in turns.
//   bench_compile [--bars] [TEXT]    only rows whose names hold TEXT
// --bars judges them: against eager code, and against the same work written by hand, whose bits must be eager code's,
// each up to three times before it is called missed; then what compiling one costs. Exit status 1 where a bar was
// missed.
#include "bench/compile/rows.h"
#include "bench/jit_settings.h"
#include "bench/thunks/interleave.h"
#include "bench/thunks/row.h"
#include "bench/verdict.h"
#include "tests/support/difference.h"

#include <shunt/jit/jit.h>
#include <shunt/shunt.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace {

class Calls : public bench::Call {
 public:
  explicit Calls(std::function<void()> f) : f_(std::move(f)) {}
  void run() override { f_(); }

 private:
  std::function<void()> f_;
};

// So that eager calls are in thunks, functions recorded, and regions native.
constexpr int kWarm = 3000;
constexpr std::chrono::milliseconds kWarmFor(60);
constexpr int64_t kFewElements = 1 << 16;

using Tensors = std::vector<shunt::Tensor>;

/// Results of a call and what else it wrote, copied; what was there before is put back.
Tensors outcomeOf(const bench::CompileRow& row, const bench::Function& f) {
  shunt::NoGradGuard no_grad;
  const Tensors written = row.written();
  Tensors before;
  for (const shunt::Tensor& t : written) before.push_back(t.defined() ? t.clone() : t);
  Tensors out;
  {
    shunt::AutoGradMode grad(true);
    out = f(row.inputs);
  }
  for (const shunt::Tensor& t : row.written()) out.push_back(t.clone());
  for (size_t i = 0; i < written.size(); ++i)
    if (written[i].defined()) shunt::Tensor(written[i]).copy_(before[i]);
  return out;
}

/// Whether the hand-written function does the row's work.
bool twinAgrees(const bench::CompileRow& row) {
  const Tensors expected = outcomeOf(row, row.function), got = outcomeOf(row, row.by_hand);
  return shunt::test::differenceOf(expected, got, shunt::test::kButStrides).empty();
}

/// A comparison with its verdict. What misses is compared again, twice at most.
struct Judged {
  bench::Comparison figures;
  bench::Verdict verdict;
};
template <class Judge>
Judged compareAndJudge(bench::Call& compiled, bench::Call& other, const Judge& judge) {
  constexpr int kMostRetries = 2;
  Judged out{};
  for (int i = 0; i <= kMostRetries; ++i) {
    out.figures = bench::compare(compiled, other);
    out.verdict = judge(out.figures);
    if (!bench::countsAsMissed(out.verdict)) break;
  }
  return out;
}

/// compile() never costs: a call of a microsecond at most 2 % more than the function's, a shorter one 20 ns.
bench::Verdict judgeAgainstEager(const bench::Comparison& c) {
  constexpr double kRatio = 1.02, kNanoseconds = 20;
  return bench::judge(c.ratio, std::max(kRatio, 1 + kNanoseconds / c.b));
}

bench::Verdict judgeByHand(const bench::HandBar& bar, const bench::Comparison& c) {
  if (bar.ratio != 0) return bench::judge(c.ratio, bar.ratio);
  if (bar.nanoseconds != 0) return bench::judge(c.a - c.b, bar.nanoseconds);
  return bench::Verdict::kHeld;
}

/// Whether the bar holds.
bool measureByHand(const bench::CompileRow& row, bench::Call& compiled) {
  if (row.by_hand == nullptr) {
    std::printf("%9s  no twin", "-");
    return true;
  }
  if (!twinAgrees(row)) {
    std::printf("%9s  the twin DIFFERS from eager code", "-");
    return false;
  }
  Calls by_hand([&] { row.by_hand(row.inputs); });
  const bench::HandBar& bar = row.hand_bar;
  const auto [c, verdict] =
      compareAndJudge(compiled, by_hand, [&](const bench::Comparison& figures) { return judgeByHand(bar, figures); });
  std::printf("%9.0f %6.2f", c.b, c.ratio);
  if (bar.ratio != 0) std::printf("  <= %4.2f  %-6s", bar.ratio, bench::textOf(verdict));
  if (bar.nanoseconds != 0) std::printf("  %+4.0f <= %2.0f %-6s", c.a - c.b, bar.nanoseconds, bench::textOf(verdict));
  return !bench::countsAsMissed(verdict);
}

void warmUp(bench::Call& call, int calls) {
  const auto end = std::chrono::steady_clock::now() + kWarmFor;
  for (int i = 0; i < calls || std::chrono::steady_clock::now() < end; ++i) call.run();
}

/// Prints a row. Whether its bars hold, where they are judged.
bool measure(const bench::CompileRow& row, bool judged) {
  const auto fast = shunt::compile(row.function);
  const auto finish = [&](const Tensors& results) {
    if (row.after != nullptr) row.after(row.inputs, results);
  };
  Calls eager([&] { finish(row.function(row.inputs)); }), compiled([&] { finish(fast(row.inputs)); });
  const int warm = row.inputs[0].numel() > kFewElements ? 20 : kWarm;
  warmUp(eager, warm);
  warmUp(compiled, warm);
  shunt::jit::wait_idle();
  warmUp(compiled, warm);
  bool held = true;
  if (judged) {
    const auto [c, verdict] = compareAndJudge(compiled, eager, &judgeAgainstEager);
    std::printf("%-42s %9.0f %9.0f %6.2f  %-6s", row.name.c_str(), c.b, c.a, c.ratio, bench::textOf(verdict));
    held = measureByHand(row, compiled) && !bench::countsAsMissed(verdict);
  } else {
    const bench::Comparison c = bench::compare(compiled, eager);
    std::printf("%-42s %9.0f %9.0f %6.2f", row.name.c_str(), c.b, c.a, c.ratio);
  }
  const bool runs_function = fast.explain(row.inputs).find("runs the function") != std::string::npos;
  std::printf("  %zu operators%s\n", fast.graph() != nullptr ? fast.graph()->nodes().size() : 0,
              runs_function ? ", not as a graph" : "");
  if (std::getenv("SHUNT_BENCH_DESCRIBE") != nullptr) std::printf("%s%s", fast.explain().c_str(), fast.plan().c_str());
  std::fflush(stdout);
  return held;
}

}  // namespace

int main(int argc, char** argv) {
  bench::compileAtWill();
  shunt::set_num_threads(1);
  bool held = true, judged = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--bars") == 0)
      judged = true;
    else
      bench::setFilter(argv[i]);
  }
  std::printf("%-42s %9s %9s %6s", "ns a call, medians", "eager", "compiled", "ratio");
  if (judged) std::printf("  %-6s %9s %6s", "", "by hand", "ratio");
  std::printf("\n");
  const std::vector<bench::CompileRow> rows = bench::compileRows();
  for (const bench::CompileRow& row : rows)
    if (bench::wanted(row.name)) held = measure(row, judged) && held;
  if (judged) bench::cacheBars(rows);
  return held && bench::missed() == 0 ? 0 : 1;
}
