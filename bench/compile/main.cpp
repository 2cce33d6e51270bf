// bench_compile: plans of traced functions against the functions themselves, eager, in one process, in turns. Prints
// the medians and whether each bar holds; fails where one doesn't. An argument: only rows whose names hold it.
#include "bench/bars/interleave.h"
#include "bench/compile/rows.h"
#include "bench/verdict.h"
#include "src/compile/plan.h"

#include <shunt/jit/jit.h>
#include <shunt/trace/trace.h>

#include <cstdio>
#include <cstring>

namespace {

class Calls : public bench::Call {
 public:
  explicit Calls(std::function<void()> f) : f_(std::move(f)) {}
  void run() override { f_(); }

 private:
  std::function<void()> f_;
};

// So that eager calls are in thunks.
constexpr int kWarm = 3000;
constexpr int64_t kFewElements = 1 << 16;

bool measure(const bench::CompileRow& row) {
  const shunt::Graph graph = shunt::trace(row.function, row.inputs);
  const shunt::compiled::Plan plan(graph);
  Calls eager([&] { row.function(row.inputs); }), planned([&] { plan.run(row.inputs); });
  const int warm = row.inputs[0].numel() > kFewElements ? 20 : kWarm;
  for (int i = 0; i < warm; ++i) eager.run();
  for (int i = 0; i < 20; ++i) planned.run();
  shunt::jit::wait_idle();
  const bench::Comparison c = bench::compare(planned, eager);
  const bench::Verdict verdict = bench::judge(c.ratio, row.most);
  const auto counts = plan.counts();
  std::printf("%-42s %10.0f %10.0f %6.2f  <= %4.2f  %-7s %3zu steps, %2zu regions of %zu\n", row.name.c_str(), c.b, c.a,
              c.ratio, row.most, bench::textOf(verdict), counts.steps, counts.regions, counts.nodes_in_regions);
  if (std::getenv("SHUNT_BENCH_DESCRIBE") != nullptr) std::printf("%s", plan.describe().c_str());
  std::fflush(stdout);
  return !bench::countsAsMissed(verdict);
}

}  // namespace

int main(int argc, char** argv) {
  shunt::set_num_threads(1);
  bool held = true;
  std::printf("%-42s %10s %10s %6s\n", "ns a call", "eager", "plan", "ratio");
  for (const bench::CompileRow& row : bench::compileRows())
    if (argc < 2 || std::strstr(row.name.c_str(), argv[1]) != nullptr) held = measure(row) && held;
  return held ? 0 : 1;
}
