// Explanations: what dispatch does with one call, and whether and why the call is compiled.
//
// explain() describes the call in the current modes of the calling thread, and doesn't call the operator. Any thread
// may call it. It may wait for a running compile, and loads the compiler if it is not loaded yet.
#pragma once

#include <shunt/core/dispatcher.h>
#include <shunt/jit/jit.h>

#include <map>
#include <optional>

namespace shunt::jit {

/// An argument of the explained call.
struct ExplainedArgument {
  std::string name;
  std::string value;    // "Float [2, 3] contiguous, requires grad", "1"
  std::string keys;     // of tensors; else empty
  std::string wrapper;  // by its keys: "subclass LoggingTensor", "functional", "fake" or "batched"; else empty
};

/// An entry of the operator's table to which the call's keys lead.
struct ExplainedStep {
  std::string key;
  std::string reason;    // why the slot has its entry: "kernel", "backend fallback", "fallthrough"...
  std::string place;     // where the entry was registered
  bool skipped = false;  // the call skips it
  std::string verdict;   // the compiler's: "inline", "call", "refuse"; empty for entries that its plan doesn't reach
  std::string why;       // the reason of a verdict other than inline
  std::string symbol;    // of the kernel, if the compiler knows it
};

/// The result of explain(); text() and json() print it.
struct Explanation {
  std::string op, schema;
  std::vector<ExplainedArgument> arguments;
  std::string argument_keys, included, excluded;  // keys of the arguments; the thread's included and excluded ones
  std::string skipped;                            // keys that fall through
  std::string keys;                               // keys by which the call is dispatched
  std::string modes;                              // "grad on, inference off, autocast AutocastCPU to BFloat16"
  bool grad = true, inference = false;
  std::map<std::string, std::string> autocast;  // if on, key to dtype: {"AutocastCPU", "BFloat16"}
  // Names of the active dispatch modes, innermost first. The first handler gets the call, and each next one gets what
  // the handler before it calls. What the last one calls is dispatched by keys_below_modes. Both are empty without
  // modes. The last kernel_modes of them stand at kKernel. For a composite that is 0, because they see its parts.
  std::vector<std::string> dispatch_modes;
  size_t kernel_modes = 0;
  std::string keys_below_modes;
  std::vector<ExplainedStep> chain;  // highest key first
  std::string signature;

  // Under dispatch modes, the rest describes the call of the operator that the outermost mode's handler makes.
  bool observed = false;
  PairStats pair;                      // if observed
  bool counts_calls = false;           // SHUNT_STATS was set at start, so pair.in_thunks and guard_misses are counted
  int64_t counted = 0, threshold = 0;  // calls since counting last began; calls that make a pair hot
  bool in_force = false;               // a call like this one, below the modes, runs in a thunk now
  std::vector<std::string> thunks;     // current ones of the operator: "{AutogradCPU, CPU} (Float contiguous)"
  std::string verdict;                 // a sentence that says why the call is compiled, or why not
  std::string plan;                    // the compiler's plan as text; of a compiled pair, the plan of its thunk
  std::optional<InvalidationRecord> last_invalidation;

  /// text() is a table for people.
  SHUNT_API std::string text() const;
  SHUNT_API std::string json() const;
};

/// Explains a call of `op`. `arguments` are in the schema's order, `named` has others by name. Missing ones take their
/// defaults. Throws if an argument doesn't fit the schema.
SHUNT_API Explanation explain(const OperatorHandle& op, Stack arguments,
                              const std::map<std::string, IValue>& named = {});

/// The same for an operator by name: explain("aten::add.Tensor", a, b). Throws if it isn't registered.
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
