// DispatchMode: user-defined code that sees every operator called on a thread, before the call or in place of the
// kernels.
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
// The caller owns the mode. It acts on the thread that entered it, until its guard ends.
//
// Note [Dispatch modes]
// A mode stands at one of two levels:
//   - kCall, the default: it sees a call first, with the operator as the user called it (`linear` is one call) and the
//     user's arguments.
//   - kKernel: it stands in place of the kernels, below Autograd and Autocast. It doesn't see composites, but the
//     operators that they call. Arguments arrive cast, and what the handler returns gets its gradient from the
//     operator's formula. A mode that computes results itself belongs there.
//
// Each thread has a stack of active modes for each level. In a stack, the innermost mode is asked first. Modes at kCall
// are asked before those at kKernel, whichever was entered first.
//   - While a handler runs, its mode and the inner ones of its level are off on that thread. An operator that it calls
//     goes to the next outer mode of the level. From the outermost mode at kCall, it goes to autograd, autocast and the
//     modes at kKernel; from the outermost one at kKernel, to the kernels.
//   - So a handler never sees the calls that it makes, and operators that kernels call are not seen.
//   - A handler at kKernel runs with Autograd, ADInplaceOrView and Autocast off: what it calls is neither recorded nor
//     cast.
//   - Backward formulas run their operators under the modes that are active where backward() is called.
//
// A mode is the key Python, or PythonKernel, in the thread's included set, and a fallback for the key. Without a mode,
// a call has neither key. Compiled thunks don't have the keys: calls bypass them under a mode, and use them again after
// it. Fake stands above PythonKernel. So for a call with fake tensors, a mode at kKernel sees tensors on Meta, as the
// Meta kernel would.
//
// Note [What handlers return]
// A handler that passes the call on leaves what the operator returns. One that computes the results itself may lose
// what the caller relies on. So each result is compared with the operator's. It is an error if
//   - dtype or shape differ;
//   - at kCall, it doesn't require grad where the operator's result does, and the call is recorded: grad mode is on and
//     an argument requires grad.
// The operator's results are found in one of these ways:
//   - From the handler's call, if that is exactly the call that it got, by op.callBoxed under unchanged settings.
//   - Else from a second call, on fake tensors and without modes. Composites and Autograd kernels run for it, backend
//     kernels don't.
//   - Not at all, if that throws (no Meta kernel, shapes that depend on elements, arguments that the operator refuses),
//     or if an argument is a TensorSubclass. Dtypes and shapes are not compared then. At kCall, a recorded call must
//     have a result that requires grad if the operator has an Autograd kernel or is a composite.
// A mode that returns something else on purpose overrides results_may_differ().
#pragma once

#include <shunt/core/ivalue.h>
#include <shunt/core/op_state.h>

#include <string>

namespace shunt {

class SHUNT_API DispatchMode {
 public:
  /// Where a mode stands among the keys: Note [Dispatch modes].
  enum class Level : uint8_t {
    kCall,    // on top: operators as the user calls them
    kKernel,  // below Autograd and Autocast, in place of the kernels
  };

  virtual ~DispatchMode();
  /// Handles one call. `stack` has the operator's arguments, complete, in the schema's order. The handler replaces them
  /// by the returns, as op.callBoxed(stack) does: exactly as many values as the schema has, each of its type (None is
  /// an undefined tensor). Anything else is an error that names this mode. A handler that does nothing is such an error
  /// too, except for operators that take exactly what they return (relu), where it returns the argument. Exceptions go
  /// to the caller.
  virtual void handle(const OperatorHandle& op, Stack* stack) = 0;
  /// The mode's name in messages.
  virtual std::string name() const { return "DispatchMode"; }
  /// Where the mode stands. Read when it is entered.
  virtual Level level() const { return Level::kCall; }
  /// Whether results may differ from the operator's in dtype or shape, or, at kCall, may lose the gradient. Read when
  /// the mode is entered. If true, nothing of Note [What handlers return] is checked, and that costs nothing.
  virtual bool results_may_differ() const { return false; }
};

/// While it lives, the mode is the calling thread's innermost one of its level. The mode must outlive the guard. Guards
/// end in reverse order, on the thread that made them. A mode may be active on several threads if its handler is
/// thread-safe. Throws if the mode's handler is running on this thread, and in a function that trace() records.
class SHUNT_API DispatchModeGuard {
 public:
  explicit DispatchModeGuard(DispatchMode& mode);
  ~DispatchModeGuard();
  DispatchModeGuard(const DispatchModeGuard&) = delete;
  DispatchModeGuard& operator=(const DispatchModeGuard&) = delete;

 private:
  friend class ModeStack;
  DispatchMode* mode_;
  const DispatchModeGuard* outer_;  // of the same level
  const DispatchMode::Level level_;
  const bool results_may_differ_;
};

/// The number of modes of both levels that see calls on this thread now.
SHUNT_API int64_t active_dispatch_modes();

}  // namespace shunt
