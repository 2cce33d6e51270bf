#include "bench/thunks/usage.h"

#include "bench/thunks/row.h"

#include <shunt/jit/jit.h>

#include <fstream>

#include <malloc.h>

namespace bench {

Usage usageNow() {
  Usage out;
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "RssAnon:") {
      status >> out.anonymous;
      out.anonymous *= kKiB;
    }
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) ++out.mappings;
  const struct mallinfo2 heap = mallinfo2();
  out.in_use = static_cast<double>(heap.uordblks + heap.hblkhd + shunt::jit::stats().code_bytes);
  return out;
}

void printGrowth(const char* what, const char* what_of_mappings, const Usage& before, const std::string& note) {
  const Usage after = usageNow();
  printRow({what, (after.anonymous - before.anonymous) / kMiB, 1, note});
  printRow({what_of_mappings, static_cast<double>(after.mappings) - static_cast<double>(before.mappings), 0,
            std::to_string(before.mappings) + " before"});
}

}  // namespace bench
