// CheckedRun: one run of a variant that is compared with the function (CompileCheck::kFirst).
//
// Note [Checked runs]
// The graph runs first, on stand-ins (stand_ins.h): it writes copies, draws from copies of the generators, and finds no
// casts that autocast keeps. So nothing has to be put back, and what only may be read is only read. Then the function
// runs, on the tensors themselves; its results and effects stand, and all of these are compared: results, with what
// they share memory with; what the graph has written, and the versions of what it hasn't; grads; where generators are.
// A witness notes which operators the function calls, so that the first one that it calls in another way can be named,
// and a write to a tensor that the graph knows nothing of is found. Results that require grad are differentiated once
// more, for a made-up gradient, by the graph's history and by the function's, up to what the graph was given: hooks and
// leaves behind that see nothing of it, and what the history has saved stays. For the thread that calls.
#pragma once

#include "src/compile/checks/compared.h"
#include "src/compile/checks/stand_ins.h"
#include "src/compile/recorded.h"
#include "src/tensor/generators_aside.h"
#include "src/trace/witness.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shunt::compiled {

class CheckedRun {
 public:
  /// Runs the graph. `number`: of the variant's runs.
  CheckedRun(const Variant& variant, const detail::CompileArguments& arguments, uint64_t number);
  CheckedRun(const CheckedRun&) = delete;
  CheckedRun& operator=(const CheckedRun&) = delete;

  /// Runs the function, and compares. What that throws leaves from here, and is compared, too.
  detail::CompileOutputs run(FunctionRef<detail::CompileOutputs()> function);
  /// False: it can't be known whether anything differs, as where there is no memory.
  bool wasCompared() const { return was_compared_; }
  /// For people: what differs, and the first operator that does. Empty: nothing that was compared.
  const std::string& difference() const { return difference_; }
  /// Whether another thread has drawn random numbers from a generator that the function draws from.
  bool metOthers() const { return met_others_; }
  /// An operator of the graph has given other results than were recorded, so that the graph's run has ended.
  const std::optional<trace_detail::OtherResults>& otherResults() const { return other_results_; }
  /// What the graph's run has taken.
  uint64_t graphNs() const { return graph_ns_; }
  struct BackwardNs {
    int64_t graph = 0, function = 0;
    bool all_ran = true;
  };
  /// The same of the backward passes of all results; none: there are no results that have one, or not all could run.
  const std::optional<BackwardNs>& backwardNs() const { return backward_ns_; }

 private:
  /// A given tensor as it was.
  struct Before {
    uint32_t version;
    bool requires_grad;
    const TensorImpl* grad;
    uint32_t grad_version;
    std::vector<int64_t> sizes, strides;
    int64_t offset;
    const StorageImpl* storage;
    const void* memory;
    size_t bytes;
  };
  /// What the function's run has shown.
  struct Seen {
    std::vector<trace_detail::Witness::Call> calls;
    std::optional<OperatorHandle> writes_unknown;
    bool is_complete;
    std::vector<detail::GeneratorPosition> drawn;
  };
  void runGraph();
  void noteThrown(const char* what) noexcept;
  void compare(const detail::CompileOutputs& function, const Seen& seen);
  std::string differenceOfAll(const detail::CompileOutputs& function, const Seen& seen);
  std::string differenceOfMemory() const;
  std::string differenceOfResults(const detail::CompileOutputs& function) const;
  std::string differenceOfResult(size_t i, const detail::CompileOutputs& function) const;
  std::string differenceOfGiven() const;
  std::string differenceOfGiven(const StandIns::Pair& pair, const Before& before) const;
  std::string differenceOfGradients(const detail::CompileOutputs& function);
  std::string differenceOfGradients(size_t i, const Tensor& function, BackwardNs& took) const;

  const Variant& variant_;
  const detail::CompileArguments& arguments_;
  const uint64_t number_;
  std::vector<const Tensor*> inputs_;
  std::optional<StandIns> stand_ins_;  // none: nothing can be compared
  std::vector<Before> before_;
  std::vector<Generator> generators_;
  std::vector<detail::GeneratorPosition> begun_, positions_;
  std::optional<detail::CompileOutputs> outputs_;  // none: the graph has thrown
  std::string error_;
  std::optional<trace_detail::OtherResults> other_results_;
  uint64_t graph_ns_ = 0;
  std::optional<BackwardNs> backward_ns_;
  bool met_others_ = false, was_compared_ = false;
  std::string difference_;
};

}  // namespace shunt::compiled
