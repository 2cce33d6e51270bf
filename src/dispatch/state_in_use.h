// The table that a call in flight uses, for boxed kernels and redispatches. A local value, on the call's thread.
#pragma once

#include <shunt/core/op_state.h>

#include <optional>

namespace shunt::detail {

/// The state of the thread's innermost call, where that is a call of `op`; else the state in force, kept while this
/// lives. Throws for an operator that was never registered.
class StateInUse {
 public:
  explicit StateInUse(const Operator& op) : state_(threadFrames().innermost()) {
    if (state_ != nullptr && state_->op() == &op) [[likely]]
      return;
    frame_.emplace(op);
    state_ = &frame_->state(op);
  }
  const OpState& operator*() const { return *state_; }
  const OpState* operator->() const { return state_; }

 private:
  const OpState* state_;
  std::optional<CallFrame> frame_;
};

/// Whether a call with these keys, which kernels above have left, goes to a CompositeImplicitAutograd kernel.
/// BackendSelect only chooses whose slot that is, and a composite fills all of them. TransformBack takes a composite of
/// the backend apart in its level.
inline bool goesToComposite(const OpState& state, DispatchKeySet keys) {
  keys = keys.remove(DispatchKey::PythonKernel).remove(DispatchKey::BackendSelect);
  if (keys.has(DispatchKey::TransformBack)) keys = keys.backends() | DispatchKeySet::of(Functionality::Dense);
  return state.lookup(keys & state.maskFor(keys)).reason == EntryReason::kCompositeImplicit;
}

}  // namespace shunt::detail
