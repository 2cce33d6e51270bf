// FunctionTally: how often each compiled function ran what: for its counts(), and for stats() of all of them.
//
// Any thread. Functions that are gone are remembered by name, since programs print their statistics at the end.
#pragma once

#include <shunt/jit/jit.h>

#include <atomic>
#include <string>
#include <vector>

namespace shunt::jit {

/// Runs of one graph. Relaxed.
struct GraphRuns {
  std::atomic<uint64_t> begun{0};
  std::atomic<uint64_t> ended{0};  // only where somebody wants to know which ones are under way
  GraphRuns* next = nullptr;
};

class FunctionTally {
 public:
  explicit FunctionTally(std::string name);
  ~FunctionTally();
  FunctionTally(const FunctionTally&) = delete;
  FunctionTally& operator=(const FunctionTally&) = delete;

  CompiledStats stats() const;
  /// Of another graph, as long as the function lives. Behind a mutex of the owner's.
  GraphRuns& addGraph();
  /// Runs of all graphs.
  uint64_t hits() const;

  /// Calls that ran the function.
  uint64_t functionCalls() const;

  std::atomic<uint64_t> recorded{0}, invalidated{0}, record_ns{0};
  std::atomic<uint64_t> eager{0};    // calls that ran the function, and those that will without being counted again:
  std::atomic<uint32_t> passing{0};  // so many

 private:
  friend class FunctionTallies;
  const std::string name_;
  std::atomic<GraphRuns*> graphs_{nullptr};  // owned; the list only grows
};

/// Of all functions that were called, by name.
std::vector<CompiledStats> statsOfFunctions();

}  // namespace shunt::jit
