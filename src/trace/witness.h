// Witness: notes which operators a function calls while it runs as ever, as a recording would have them as nodes. For
// the thread that made it, which computes with plain tensors; no trace runs on it.
#pragma once

#include <shunt/core/dispatcher.h>
#include <shunt/core/function_ref.h>
#include <shunt/trace/graph.h>

#include <unordered_set>
#include <vector>

namespace shunt::trace_detail {

class Witness {
 public:
  using TakesApart = FunctionRef<bool(const OperatorHandle&)>;
  /// `takes_apart`: composites that a recording has the parts of, besides those of tensors that require grad.
  /// `known`: memory of tensors that were there before.
  Witness(TakesApart takes_apart, std::unordered_set<const StorageImpl*> known);
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
  const std::vector<Call>& calls() const { return calls_; }
  /// The number of the first call that writes memory which was there before and isn't known; -1: there is none.
  int64_t writesUnknown() const { return writes_unknown_; }

  /// What the key Tracer does while one lives on the thread.
  void call(const OperatorHandle& op, DispatchKeySet keys, Stack* stack);
  /// The thread's; null: there is none.
  static Witness* current();

 private:
  bool isTakenApart(const OperatorHandle& op, DispatchKeySet keys, const Stack& stack) const;
  void note(const OperatorHandle& op, const Stack& stack);
  void noteResults(const Stack& stack, size_t returns);

  const TakesApart takes_apart_;
  std::unordered_set<const StorageImpl*> known_;
  const bool was_included_;
  bool inside_ = false;  // of an operator that is noted
  std::vector<Call> calls_;
  int64_t writes_unknown_ = -1;
};

}  // namespace shunt::trace_detail
