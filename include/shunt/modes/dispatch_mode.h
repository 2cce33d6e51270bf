// DispatchMode: code of the user's own that sees every operator called on a thread, before anything else does.
//
//   struct Logging : shunt::DispatchMode {
//     void handle(const shunt::OperatorHandle& op, shunt::Stack* stack) override {
//       std::cout << op.operator_name() << '\n';
//       op.callBoxed(stack);
//     }
//   };
//   Logging logging;
//   { shunt::DispatchModeGuard guard(logging);  model(x); }
//
// Note [Dispatch modes]
// Active modes are a stack, one per thread; the innermost one is asked first. While its handler runs, it and the modes inside
// it are off on that thread: whatever operator the handler calls goes to the next outer mode, and below the outermost one to
// autograd, autocast and the kernels. So a handler can't meet itself, and operators that kernels and composites call inside
// are not seen: `linear` is one call. Backward formulas run their operators under the modes that are active where
// backward() is called.
// A mode is the key Python in the thread's included set, and a fallback for it. Without a mode a call has none of it, and
// compiled thunks, which don't have the key, are passed by under a mode and are there again after it.
#pragma once

#include <shunt/core/ivalue.h>
#include <shunt/core/op_state.h>

#include <string>

namespace shunt {

class SHUNT_API DispatchMode {
 public:
  virtual ~DispatchMode();
  /// `stack`: the arguments as the user called the operator, complete, in the schema's order. To be replaced by the returns, as
  /// op.callBoxed(stack) does: exactly as many values as the operator returns, each of its type (None is an undefined tensor). All
  /// else is an error that names this mode. So is a handler that does nothing, except for operators that take just what they return
  /// (relu): theirs has returned the argument. What it throws, the caller gets.
  virtual void handle(const OperatorHandle& op, Stack* stack) = 0;
  /// For messages.
  virtual std::string name() const { return "DispatchMode"; }
};

/// Makes a mode the calling thread's innermost one for a scope; the mode has to outlive it. Guards end in reverse order, on the
/// thread that made them. One mode may be active on several threads if its handler can stand that. Throws where the
/// mode's own handler is running on this thread.
class SHUNT_API DispatchModeGuard {
 public:
  explicit DispatchModeGuard(DispatchMode& mode);
  ~DispatchModeGuard();
  DispatchModeGuard(const DispatchModeGuard&) = delete;
  DispatchModeGuard& operator=(const DispatchModeGuard&) = delete;

 private:
  friend struct ModeStack;
  DispatchMode* mode_;
  const DispatchModeGuard* outer_;
};

/// How many modes a call on this thread would meet.
SHUNT_API int64_t active_dispatch_modes();

}  // namespace shunt
