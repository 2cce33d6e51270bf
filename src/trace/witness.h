// Witness: notes which operators a function calls while it runs as ever, as a recording would have them as nodes. For
// the thread that made it, which computes with plain tensors; no trace runs on it. It lets nothing of its own be seen
// by the function: where there is no memory it notes no more.
#pragma once

#include <shunt/core/dispatcher.h>
#include <shunt/core/function_ref.h>
#include <shunt/trace/graph.h>

#include <cstddef>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

namespace shunt::trace_detail {

class Witness {
 public:
  using TakesApart = FunctionRef<bool(const OperatorHandle&)>;
  /// `takes_apart`: composites that a recording has the parts of, besides those of tensors that require grad.
  /// `known`: memory of tensors that were there before. `max_calls`: later ones are not kept.
  Witness(TakesApart takes_apart, std::unordered_set<const StorageImpl*> known, size_t max_calls);
  ~Witness();
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;

  /// An argument: a literal, or tensors. Those are there to be compared with tensors that live, by address.
  struct Argument {
    bool is_tensors = false;
    IValue literal;
    std::vector<const TensorImpl*> tensors;
  };
  struct Call {
    OperatorHandle op;
    std::vector<Argument> arguments;
  };
  std::vector<Call> takeCalls() { return std::move(calls_); }
  /// The first operator that writes memory which was there before and isn't known; none where there is no such call.
  const std::optional<OperatorHandle>& writesUnknown() const { return writes_unknown_; }
  /// False: there was no memory for a part of what it should have noted.
  bool isComplete() const { return is_complete_; }

  /// What the key Tracer does while one lives on the thread.
  void call(const OperatorHandle& op, DispatchKeySet keys, Stack* stack);
  /// The thread's; null: there is none.
  static Witness* current();

 private:
  bool isTakenApart(const OperatorHandle& op, DispatchKeySet keys, const Stack& stack) const;
  void note(const OperatorHandle& op, const Stack& stack) noexcept;
  void noteResults(const OperatorHandle& op, const Stack& stack) noexcept;

  const TakesApart takes_apart_;
  const size_t max_calls_;
  std::unordered_set<const StorageImpl*> known_;
  const bool was_included_;
  bool inside_ = false;  // of an operator that is noted
  std::vector<Call> calls_;
  std::optional<OperatorHandle> writes_unknown_;
  bool is_complete_ = true;
};

}  // namespace shunt::trace_detail
