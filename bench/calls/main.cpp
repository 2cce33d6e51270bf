// bench_calls: call overhead of Shunt, beside libtorch where it was found, repetitions interleaved at random.
//   bench_calls [--tsv FILE] [Google Benchmark's flags: --benchmark_filter=..., --benchmark_out=FILE.json ...]
#include "bench/calls/cases.h"
#include "bench/calls/report.h"

#include <cstring>

namespace {

template <std::unique_ptr<bench::Call> (*Make)(const bench::Case&)>
void add(const char* side, const bench::Case& c) {
  benchmark::RegisterBenchmark((std::string(side) + "/" + c.name()).c_str(), [c](benchmark::State& state) {
    const auto call = Make(c);
    for (auto _ : state) call->run();
  });
}

void addBothSides(const bench::Case& c) {
  const bool is_digits = c.op == bench::kDigitsStep;
  is_digits ? add<&bench::makeShuntDigitsStep>("shunt", c) : add<&bench::makeShuntCall>("shunt", c);
#ifdef SHUNT_BENCH_TORCH
  is_digits ? add<&bench::makeTorchDigitsStep>("libtorch", c) : add<&bench::makeTorchCall>("libtorch", c);
#endif
}

}  // namespace

int main(int argc, char** argv) {
  std::string tsv;
  std::vector<char*> rest = {argv[0]};
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--tsv") == 0 && i + 1 < argc) tsv = argv[++i];
    else rest.push_back(argv[i]);
  }
  // Defaults that a flag on the command line overrides.
  std::vector<std::string> defaults = {"--benchmark_enable_random_interleaving=true", "--benchmark_repetitions=9", "--benchmark_min_time=0.02"};
  for (std::string& d : defaults) rest.insert(rest.begin() + 1, d.data());
  int count = static_cast<int>(rest.size());
  for (const bench::Case& c : bench::allCases()) addBothSides(c);
  benchmark::Initialize(&count, rest.data());
  if (benchmark::ReportUnrecognizedArguments(count, rest.data())) return 2;
  bench::PairReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  reporter.print();
  if (!tsv.empty()) reporter.write(tsv);
  return 0;
}
