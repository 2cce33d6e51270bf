// bench_compile: compiled functions against the functions themselves, eager, in one process, in turns. Prints the
// medians and whether each bar holds; fails where one doesn't. An argument: only rows whose names hold it.
#include "bench/bars/interleave.h"
#include "bench/compile/rows.h"
#include "bench/verdict.h"

#include <shunt/jit/jit.h>
#include <shunt/shunt.h>

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

// So that eager calls are in thunks, and regions native.
constexpr int kWarm = 3000;
constexpr int64_t kFewElements = 1 << 16;

bool measure(const bench::CompileRow& row) {
  const auto fast = shunt::compile(row.function);
  Calls eager([&] { row.function(row.inputs); }), compiled([&] { fast(row.inputs); });
  const int warm = row.inputs[0].numel() > kFewElements ? 20 : kWarm;
  for (int i = 0; i < warm; ++i) eager.run();
  for (int i = 0; i < warm; ++i) compiled.run();
  shunt::jit::wait_idle();
  const bench::Comparison c = bench::compare(compiled, eager);
  const bench::Verdict verdict = bench::judge(c.ratio, row.most);
  std::printf("%-42s %10.0f %10.0f %6.2f  <= %4.2f  %-7s %zu operators%s\n", row.name.c_str(), c.b, c.a, c.ratio,
              row.most, bench::textOf(verdict), fast.graph() != nullptr ? fast.graph()->nodes().size() : 0,
              fast.counts().hits == 0 ? ", not as a graph" : "");
  if (std::getenv("SHUNT_BENCH_DESCRIBE") != nullptr) std::printf("%s%s", fast.explain().c_str(), fast.plan().c_str());
  std::fflush(stdout);
  return !bench::countsAsMissed(verdict);
}

}  // namespace

int main(int argc, char** argv) {
  shunt::set_num_threads(1);
  bool held = true;
  std::printf("%-42s %10s %10s %6s\n", "ns a call", "eager", "compiled", "ratio");
  for (const bench::CompileRow& row : bench::compileRows())
    if (argc < 2 || std::strstr(row.name.c_str(), argv[1]) != nullptr) held = measure(row) && held;
  return held ? 0 : 1;
}
