// bench_compile: compiled functions against the functions themselves, eager, and against the same work written by hand,
// in one process, in turns; then what compiling one costs. Prints the medians and whether each bar holds; fails where
// one doesn't, and where what is written by hand gives other bits than eager code. An argument: only rows whose names
// hold it.
#include "bench/bars/interleave.h"
#include "bench/bars/row.h"
#include "bench/compile/rows.h"
#include "bench/jit_settings.h"
#include "bench/verdict.h"

#include <shunt/jit/jit.h>
#include <shunt/shunt.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

class Calls : public bench::Call {
 public:
  explicit Calls(std::function<void()> f) : f_(std::move(f)) {}
  void run() override { f_(); }

 private:
  std::function<void()> f_;
};

// So that eager calls are in thunks, and regions native.
constexpr int kWarm = 3000;
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

bool sameBits(const shunt::Tensor& a, const shunt::Tensor& b) {
  if (a.sizes() != b.sizes() || a.dtype() != b.dtype()) return false;
  const shunt::Tensor x = a.contiguous(), y = b.contiguous();
  return x.numel() == 0 || std::memcmp(x.data_ptr(), y.data_ptr(), static_cast<size_t>(x.nbytes())) == 0;
}

/// Whether the hand-written function does the row's work.
bool twinAgrees(const bench::CompileRow& row) {
  const Tensors expected = outcomeOf(row, row.function), got = outcomeOf(row, row.by_hand);
  return std::equal(expected.begin(), expected.end(), got.begin(), got.end(), sameBits);
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
  const bench::Comparison c = bench::compare(compiled, by_hand);
  std::printf("%9.0f %6.2f", c.b, c.ratio);
  const bench::HandBar& bar = row.hand_bar;
  bench::Verdict verdict = bench::Verdict::kHeld;
  if (bar.ratio != 0) {
    verdict = bench::judge(c.ratio, bar.ratio);
    std::printf("  <= %4.2f  %-6s", bar.ratio, bench::textOf(verdict));
  } else if (bar.nanoseconds != 0) {
    verdict = bench::judge(c.a - c.b, bar.nanoseconds);
    std::printf("  %+4.0f <= %2.0f %-6s", c.a - c.b, bar.nanoseconds, bench::textOf(verdict));
  }
  return !bench::countsAsMissed(verdict);
}

bool measure(const bench::CompileRow& row) {
  const auto fast = shunt::compile(row.function);
  const auto finish = [&](const Tensors& results) {
    if (row.after != nullptr) row.after(row.inputs, results);
  };
  Calls eager([&] { finish(row.function(row.inputs)); }), compiled([&] { finish(fast(row.inputs)); });
  const int warm = row.inputs[0].numel() > kFewElements ? 20 : kWarm;
  for (int i = 0; i < warm; ++i) eager.run();
  for (int i = 0; i < warm; ++i) compiled.run();
  shunt::jit::wait_idle();
  const bench::Comparison c = bench::compare(compiled, eager);
  const bench::Verdict verdict = bench::judge(c.ratio, row.most);
  std::printf("%-38s %9.0f %9.0f %6.2f  <= %4.2f  %-6s", row.name.c_str(), c.b, c.a, c.ratio, row.most,
              bench::textOf(verdict));
  const bool held = measureByHand(row, compiled);
  std::printf("  %zu operators%s\n", fast.graph() != nullptr ? fast.graph()->nodes().size() : 0,
              fast.counts().hits == 0 ? ", not as a graph" : "");
  if (std::getenv("SHUNT_BENCH_DESCRIBE") != nullptr) std::printf("%s%s", fast.explain().c_str(), fast.plan().c_str());
  std::fflush(stdout);
  return held && !bench::countsAsMissed(verdict);
}

}  // namespace

int main(int argc, char** argv) {
  bench::compileAtWill();
  shunt::set_num_threads(1);
  bool held = true;
  std::printf("%-38s %9s %9s %6s %16s %9s %6s\n", "ns a call", "eager", "compiled", "ratio", "", "by hand", "ratio");
  if (argc > 1) bench::setFilter(argv[1]);
  const std::vector<bench::CompileRow> rows = bench::compileRows();
  for (const bench::CompileRow& row : rows)
    if (bench::wanted(row.name)) held = measure(row) && held;
  bench::cacheBars(rows);
  return held && bench::missed() == 0 ? 0 : 1;
}
