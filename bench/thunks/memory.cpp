// What thunks hold of memory, and what compiling and retiring leaves behind.
#include "bench/thunks/many_pairs.h"
#include "bench/thunks/parts.h"
#include "bench/thunks/row.h"
#include "bench/thunks/usage.h"

#include <shunt/jit/jit.h>

#include <chrono>
#include <cstdio>
#include <thread>

namespace bench {

using namespace shunt;

namespace {

void compile(const ManyPairs& pairs, size_t first, size_t last) {
  for (size_t i = first; i < last; ++i) {
    pairs.call(i);
    jit::wait_idle();
  }
}

/// Bytes in use when the compiler's thread has freed what it kept to compile faster (src/tiering/compiler.h).
double inUseAtRest() {
  std::this_thread::sleep_for(std::chrono::seconds(7));
  return usageNow().in_use;
}

}  // namespace

void memoryBars() {
  const char* const what = "memory of a live thunk, KiB";
  if (!wanted(what)) return;
  constexpr size_t kThunks = 1000, kWarm = 100;
  const ManyPairs pairs(kThunks + kWarm);
  compile(pairs, 0, kWarm);
  const double before = inUseAtRest();
  const size_t live_before = compiledPairs();
  compile(pairs, kWarm, pairs.size());
  const double at_work = usageNow().in_use, after = inUseAtRest();
  const auto more = static_cast<double>(compiledPairs() - live_before);
  double code = 0;
  for (const jit::PairStats& p : jit::stats().pairs) code += static_cast<double>(p.bytes);
  code /= static_cast<double>(live_before) + more;
  char note[160];
  std::snprintf(
      note, sizeof note,
      "%.0f thunks, with what statistics keep of them; %.2f KiB of it code; %.1f KiB while the compiler keeps "
      "its caches",
      more, code / kKiB, (at_work - before) / more / kKiB);
  printRow({what, (after - before) / more / kKiB, 4, note});
}

void growthBars() {
  const char* const memory = "anonymous memory after 2,000 compiles, MiB more";
  const char* const mappings = "mappings after 2,000 compiles, more";
  if (!wanted(memory) && !wanted(mappings)) return;
  const ManyPairs pairs(100);
  const auto round = [&] {
    pairs.callAll();
    jit::clear();
  };
  for (int i = 0; i < 5; ++i) round();
  const uint64_t compiled = jit::stats().compiled;
  const Usage before = usageNow();
  while (jit::stats().compiled < compiled + 2000) round();
  printGrowth(memory, mappings, before, std::to_string(jit::stats().compiled - compiled) + " compiles");
}

}  // namespace bench
