// bench_calls: call overhead of Shunt, interpreted and compiled, beside libtorch where it was found, repetitions
// interleaved at random.
//   bench_calls [--tsv FILE] [--bars] [Google Benchmark's flags: --benchmark_filter=..., --benchmark_out=FILE.json ...]
// --bars judges the figures, after it has measured once more, twice at most, what would miss its bar. Exit status 1
// when a bar was missed or, without a filter and though the system has what it takes, not measured; 2 when something
// failed.
#include "bench/calls/cases.h"
#include "bench/calls/compiled.h"
#include "bench/calls/report.h"
#include "bench/jit_settings.h"

#include <shunt/jit/jit.h>

#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <string_view>

namespace {

using bench::Make;

void addSide(bench::Side side, const bench::Case& c, Make make) {
  // Once not compiled, never: the library aborts on a case of which some repetitions are skipped.
  const auto not_compiled = std::make_shared<bool>(false);
  benchmark::RegisterBenchmark((std::string(nameOf(side)) + "/" + c.name()).c_str(), [=](benchmark::State& state) {
    const auto call = make(c);
    if (side == bench::Side::kInterpreted) shunt::jit::set_enabled(false);
    if (side == bench::Side::kCompiled && (*not_compiled || !bench::compile(*call))) {
      *not_compiled = true;
      return state.SkipWithError("not compiled");
    }
    for (auto _ : state) call->run();
  });
}

void addSides(const bench::Case& c) {
  const bool is_digits = bench::isTrainingStep(c);
  for (const auto side : {bench::Side::kInterpreted, bench::Side::kCompiled})
    addSide(side, c, is_digits ? &bench::makeShuntDigitsStep : &bench::makeShuntCall);
#ifdef SHUNT_BENCH_TORCH
  addSide(bench::Side::kLibtorch, c, is_digits ? &bench::makeTorchDigitsStep : &bench::makeTorchCall);
#endif
}

}  // namespace

int main(int argc, char** argv) try {
  // What is measured in the compiled column stays compiled; all in one thread.
  bench::compileAtWill();
  bench::startAgainWith({{"SHUNT_JIT_THRESHOLD", std::to_string(bench::kThreshold)},
                         {"SHUNT_JIT_KEEP", "1"},
                         {"SHUNT_NUM_THREADS", "1"},
                         {"OPENBLAS_NUM_THREADS", "1"},
                         {"OMP_NUM_THREADS", "1"}},
                        argv);
  std::string tsv;
  bool all = true, judged = false;
  std::vector<char*> rest = {argv[0]};
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--tsv") == 0 && i + 1 < argc)
      tsv = argv[++i];
    else if (std::strcmp(argv[i], "--bars") == 0)
      judged = true;
    else
      rest.push_back(argv[i]);
    const std::string_view flag = argv[i];
    if (flag.starts_with("--benchmark_filter") || flag.starts_with("--benchmark_list_tests")) all = false;
  }
  // Defaults that a flag on the command line overrides.
  std::vector<std::string> defaults = {"--benchmark_enable_random_interleaving=true", "--benchmark_repetitions=5",
                                       "--benchmark_min_time=0.02"};
  for (std::string& d : defaults) rest.insert(rest.begin() + 1, d.data());
  int count = static_cast<int>(rest.size());
  for (const bench::Case& c : bench::allCases()) addSides(c);
  benchmark::Initialize(&count, rest.data());
  if (benchmark::ReportUnrecognizedArguments(count, rest.data())) return 2;
  bench::SideReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  reporter.printCases();
  if (!tsv.empty()) reporter.write(tsv);
  if (!judged) return 0;
  constexpr int kMostRetries = 2;
  for (int retry = 0; retry < kMostRetries; ++retry) {
    const std::string missed = reporter.takeMissed();
    if (missed.empty()) break;
    benchmark::RunSpecifiedBenchmarks(&reporter, missed);
  }
  return reporter.printBars(all) == 0 ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "bench_calls: %s\n", e.what());
  return 2;
}
