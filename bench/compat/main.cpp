// bench_compat: what sources written for PyTorch's C++ API cost on Shunt and on libtorch. One source, compiled by one
// compiler with the same flags against each, is opened twice in this process; both run in turns, in one thread. Prints
// the medians and whether each bar holds: libtorch's time over Shunt's.
//   bench_compat [TEXT]    only cases whose names hold it
// Exit status 1 when a bar was missed or, though the system has libtorch 1.13, not measured; 2 when something failed.
#include "bench/compat/cases.h"
#include "bench/jit_settings.h"
#include "bench/thunks/interleave.h"
#include "bench/verdict.h"

#include <cstdio>
#include <cstring>
#include <exception>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>

#include <dlfcn.h>

namespace {

// How many times Shunt has to be as fast.
struct Bar {
  const char* name;
  double least;
};
constexpr Bar kBars[] = {
    {"typed call, 16 floats", 5},
    {"boxed call, 16 floats", 4},
    {"custom function, forward and backward", 5},
    {"custom function, forward", 3},
    {"typed call, list, optional and string", 0.8},
    {"boxed call, list, optional and string", 1},
    {"typed call of a boxed kernel", 1},
    {"boxed call of a boxed kernel", 1},
    {"call of a kernel class", 1},
    {"finding an operator by name", 0.5},  // under a lock; once for each operator in programs
    {"registering an operator with a kernel", 1},
};

bool report(const Bar& bar, double libtorch, double shunt, double times, bench::Lack lack) {
  // judge() asks for at most: here Shunt's time over libtorch's.
  const bench::Verdict verdict = bench::judge(1 / times, 1 / bar.least, lack);
  std::printf("%-42s %10.0f %10.0f %7.2f  >= %4.1f  %s\n", bar.name, libtorch, shunt, times, bar.least,
              bench::textOf(verdict));
  std::fflush(stdout);
  return !bench::countsAsMissed(verdict);
}

#ifdef BENCH_COMPAT_LIBTORCH
class Calls {
 public:
  explicit Calls(void (*run)(int64_t)) : run_(run) {}
  int64_t time(int64_t calls) const {
    const int64_t start = bench::threadNanoseconds();
    run_(calls);
    return bench::threadNanoseconds() - start;
  }
  /// As many as take about a millisecond.
  int64_t countOfChunk() const {
    constexpr int64_t kChunk = 1'000'000;
    for (int64_t calls = 16;; calls *= 4) {
      const int64_t took = time(calls);
      if (took >= kChunk / 4) return std::max<int64_t>(1, calls * kChunk / took);
    }
  }

 private:
  void (*run_)(int64_t);
};

std::span<const BenchCompatCase> open(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  const auto cases = reinterpret_cast<BenchCompatCases>(dlsym(library, "bench_compat_cases"));
  if (cases == nullptr) throw std::runtime_error(dlerror());
  size_t count = 0;
  const BenchCompatCase* first = cases(&count);
  return {first, count};
}

const BenchCompatCase& find(std::span<const BenchCompatCase> cases, const char* name) {
  for (const BenchCompatCase& c : cases)
    if (std::strcmp(c.name, name) == 0) return c;
  throw std::runtime_error(std::string("there is no case ") + name);
}

bool measure(const Bar& bar) {
  static const auto libtorch_cases = open(BENCH_COMPAT_LIBTORCH), shunt_cases = open(BENCH_COMPAT_SHUNT);
  const Calls libtorch(find(libtorch_cases, bar.name).run), shunt(find(shunt_cases, bar.name).run);
  constexpr int64_t kWarm = 3000;
  libtorch.time(kWarm);
  shunt.time(kWarm);
  constexpr int kRounds = 61;
  const bench::Comparison c = bench::alternate(
      kRounds, libtorch.countOfChunk(), shunt.countOfChunk(), [&](int64_t n) { return libtorch.time(n); },
      [&](int64_t n) { return shunt.time(n); });
  return report(bar, c.a, c.b, c.ratio, bench::Lack::kNothing);
}
#else
bool measure(const Bar& bar) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  return report(bar, kNone, kNone, kNone, bench::lackOfLibtorch());
}
#endif

}  // namespace

int main(int argc, char** argv) try {
  bench::compileAtWill();
  bool held = true;
  std::printf("%-42s %10s %10s %7s\n", "ns a call, sources for PyTorch's C++ API", "libtorch", "Shunt", "times");
  for (const Bar& bar : kBars)
    if (argc < 2 || std::strstr(bar.name, argv[1]) != nullptr) held = measure(bar) && held;
  return held ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "bench_compat: %s\n", e.what());
  return 2;
}
