// FunctionTally: how often each compiled function ran what: for its counts(), and for stats() of all of them.
//
// Any thread. Functions that are gone are remembered by name, since programs print their statistics at the end.
#pragma once

#include <shunt/jit/jit.h>

#include <atomic>
#include <string>
#include <vector>

namespace shunt::jit {

class FunctionTally {
 public:
  explicit FunctionTally(std::string name);
  ~FunctionTally();
  FunctionTally(const FunctionTally&) = delete;
  FunctionTally& operator=(const FunctionTally&) = delete;

  CompiledStats stats() const;

  std::atomic<uint64_t> recorded{0}, invalidated{0}, record_ns{0};
  std::atomic<uint64_t> hits{0}, eager{0};

 private:
  friend class FunctionTallies;
  const std::string name_;
};

/// Of all functions that were called, by name.
std::vector<CompiledStats> statsOfFunctions();

}  // namespace shunt::jit
