// What thunks hold of memory, and what compiling and retiring leaves behind.
#include "bench/bars/many_pairs.h"
#include "bench/bars/parts.h"
#include "bench/bars/row.h"
#include "bench/bars/usage.h"

#include <shunt/jit/jit.h>

#include <cstdio>

namespace bench {

using namespace shunt;

void memoryBars() {
  const char* const what = "memory of a live thunk, KiB";
  if (!wanted(what)) return;
  constexpr size_t kThunks = 1000, kWarm = 100;
  const ManyPairs pairs(kThunks + kWarm);
  for (size_t i = 0; i < kWarm; ++i) pairs.call(i);
  const Usage before = usageNow();
  const size_t live_before = compiledPairs();
  for (size_t i = kWarm; i < pairs.size(); ++i) pairs.call(i);
  const Usage after = usageNow();
  const auto more = static_cast<double>(compiledPairs() - live_before);
  double code = 0;
  for (const jit::PairStats& p : jit::stats().pairs) code += static_cast<double>(p.bytes);
  code /= static_cast<double>(live_before) + more;
  char note[128];
  std::snprintf(note, sizeof note, "%.0f thunks, with what statistics keep of them; %.2f KiB of it code", more,
                code / kKiB);
  printRow({what, (after.in_use - before.in_use) / more / kKiB, 4, note});
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
