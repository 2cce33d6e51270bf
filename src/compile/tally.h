// Tally: how often each compiled function ran what, for counts(), and for jit::stats() of all of them.
//
// Any thread. Functions that are gone are remembered by name, since programs print their statistics at the end.
#pragma once

#include <shunt/compile/compile.h>
#include <shunt/jit/jit.h>

#include <atomic>
#include <string>
#include <vector>

namespace shunt::compiled {

class Tally {
 public:
  explicit Tally(std::string name);
  ~Tally();
  Tally(const Tally&) = delete;
  Tally& operator=(const Tally&) = delete;

  CompileCounts counts() const;

  std::atomic<uint64_t> recorded{0}, invalidated{0}, record_ns{0};
  std::atomic<uint64_t> hits{0}, eager{0};

 private:
  friend class Tallies;
  const std::string name_;
};

/// Of all functions that were called, by name.
std::vector<jit::CompiledStats> statsOfFunctions();

}  // namespace shunt::compiled
