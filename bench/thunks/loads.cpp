// Thunks from the disk cache: what loading one costs, and what loading and retiring many leaves behind.
#include "bench/thunks/interleave.h"
#include "bench/thunks/many_pairs.h"
#include "bench/thunks/parts.h"
#include "bench/thunks/row.h"
#include "bench/thunks/usage.h"

#include <shunt/jit/jit.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

namespace bench {

using namespace shunt;

// With SHUNT_JIT_CACHE on a directory that nobody else uses.
void loadBars() {
  const char *const load = "loading a thunk from the disk cache, ms of CPU",
                    *const memory = "anonymous memory after 100,000 loads and retirements, MiB more",
                    *const mappings = "mappings after 100,000 loads and retirements, more";
  if (!wanted(load) && !wanted(memory) && !wanted(mappings)) return;
  const ManyPairs pairs(16);
  const auto round = [&] {
    pairs.callAll();
    jit::clear();
  };
  for (int i = 0; i < 60; ++i) round();
  const uint64_t loaded_before = jit::stats().loaded;
  const Usage before = usageNow();
  constexpr uint64_t kCycles = 100'000;
  for (uint64_t i = 0; i < kCycles / pairs.size(); ++i) round();
  const jit::Stats stats = jit::stats();
  const uint64_t loaded = stats.loaded - loaded_before;
  std::vector<double> times;
  for (const jit::PairStats& p : stats.pairs)
    if (p.loads != 0) times.push_back(p.times.total());
  std::filesystem::remove_all(std::getenv("SHUNT_JIT_CACHE"));
  if (loaded < kCycles - pairs.size())
    throw std::runtime_error("of 100,000 thunks, only " + std::to_string(loaded) + " came from the cache");
  printRow({load, medianOf(times), 0.1, "median of the last loads of " + std::to_string(times.size()) + " pairs"});
  printGrowth(memory, mappings, before, std::to_string(loaded) + " loads");
}

}  // namespace bench
