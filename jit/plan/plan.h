// Plan: the chain of kernels that a hot pair runs through, with a verdict on each, and what the thunk will rely on.
//
// Made from a snapshot of the operator's table; a value, used by one thread. The chain is a prediction: a wrapper is taken
// to redispatch with every key strictly below its own. A wrapper that does otherwise still works, since what it asks the
// table is answered from the same snapshot.
#pragma once

#include "jit/bitcode/libraries.h"
#include "src/dispatch/thunk.h"

#include <shunt/jit/provider.h>

#include <string>
#include <vector>

namespace shunt::jit {

enum class StepVerdict : uint8_t { kInline, kCall, kRefuse };

struct Step {
  DispatchKey key;
  DispatchKeySet keys;      // with which it is called
  TableEntry entry;
  std::string symbol;       // of entry.unboxed; empty where the host has none
  StepVerdict verdict = StepVerdict::kRefuse;
  std::string why;
};

struct Plan {
  OpSnapshot op;
  CompileRequest request;
  std::vector<Step> steps;
  std::vector<Edge> edges;
  std::string loop;         // symbol of the recorded functor's generic loop; empty: no elementwise kernel was seen
  /// The last step redispatches with keys that can't be foretold (BackendSelect): through the host's table.
  bool open = false;
  std::string refusal;  // empty: compile

  /// With the bitcode of `libraries`, which were taken before.
  static Plan make(const CompileRequest& request, const Libraries& libraries);
  /// A line per step, then the operands expected.
  std::string print() const;
  PlanOutline outline() const;
};

}  // namespace shunt::jit
