// Explanations: for one concrete call, what dispatch does with it, and whether and why it is compiled.
//
// An explanation is made for the calling thread's modes as they are now, without calling the operator. Any thread may
// ask; it may wait for a compile that is going on, and loads the compiler where it is not yet loaded.
#pragma once

#include <shunt/core/dispatcher.h>
#include <shunt/jit/jit.h>

#include <map>
#include <optional>

namespace shunt::jit {

/// An argument of the explained call.
struct ExplainedArgument {
  std::string name;
  std::string value;  // "Float [2, 3] contiguous, requires grad", "1"
  std::string keys;   // of tensors; else empty
  std::string
      wrapper;  // "subclass LoggingTensor", "functional", "fake", "batched": what its keys make of it; else empty
};

/// An entry of the table that the call's keys lead to, highest first.
struct ExplainedStep {
  std::string key;
  std::string reason;    // why the slot holds what it holds: "kernel", "backend fallback", "fallthrough"...
  std::string place;     // where that was registered
  bool skipped = false;  // the call looks past it
  std::string verdict;   // the compiler's: "inline", "call", "refuse"; empty for entries that its plan does not reach
  std::string why;       // of a verdict other than inline
  std::string symbol;
};

/// All that explain() finds out; text() and json() print it.
struct Explanation {
  std::string op, schema;
  std::vector<ExplainedArgument> arguments;
  std::string argument_keys, included, excluded;  // the arguments', and the thread's
  std::string skipped;                            // keys that fall through
  std::string keys;                               // those the call is dispatched by
  std::string modes;                              // "grad on, inference off, autocast AutocastCPU to BFloat16"
  bool grad = true, inference = false;
  std::map<std::string, std::string> autocast;  // where it is on, key to dtype: {"AutocastCPU", "BFloat16"}
  // Names of the active dispatch modes, innermost first. The first one's handler gets the call, each next one what the
  // handler before it calls; what the last one calls is dispatched by keys_below_modes. Without modes both are empty.
  // The last kernel_modes of them stand at kKernel, below Autograd and Autocast; a composite, of which they see the
  // parts, has none.
  std::vector<std::string> dispatch_modes;
  size_t kernel_modes = 0;
  std::string keys_below_modes;
  std::vector<ExplainedStep> chain;
  std::string signature;

  // Under dispatch modes, what follows is of the call that the outermost one's handler makes of the operator.
  bool observed = false;
  PairStats pair;             // where observed
  bool counts_calls = false;  // pair.in_thunks and guard_misses are counted: SHUNT_STATS was set when the program began
  int64_t counted = 0, threshold = 0;  // calls since it last began to count, and how many make it hot
  bool in_force = false;               // a call like this one, below the modes, runs in a thunk now
  std::vector<std::string> thunks;     // in force, of the operator: "{AutogradCPU, CPU} (Float contiguous)"
  std::string verdict;                 // a sentence: why it is compiled, or is not
  std::string plan;                    // the compiler's, printed; of a compiled pair the one it was compiled by
  std::optional<InvalidationRecord> last_invalidation;

  /// As a table for people, and as JSON.
  SHUNT_API std::string text() const;
  SHUNT_API std::string json() const;
};

/// The arguments in the schema's order; those left out, and not named, have their defaults.
SHUNT_API Explanation explain(const OperatorHandle& op, Stack arguments,
                              const std::map<std::string, IValue>& named = {});

/// explain("aten::add.Tensor", a, b)
template <class... A>
Explanation explain(std::string_view op, const A&... arguments) {
  Stack stack;
  stack.reserve(sizeof...(A));
  (stack.emplace_back(arguments), ...);
  const OperatorName name = parseName(op);
  return explain(Dispatcher::singleton().findSchemaOrThrow(name.name.c_str(), name.overload_name.c_str()),
                 std::move(stack));
}

}  // namespace shunt::jit
