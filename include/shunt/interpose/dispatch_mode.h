// DispatchMode: code of the user's own that sees every operator called on a thread, before anything else does or in the
// place of the kernels.
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
// A mode stands at one of two levels. At kCall, the default, it is the first to see a call: operators whole, as the
// user called them (`linear` is one call), on the arguments as the user gave them. At kKernel it stands in the kernels'
// place, below Autograd and Autocast: a composite is not offered but the operators that it calls are, arguments come
// cast, and what the handler returns gets its gradient from the operator's own formula. A mode that computes results
// itself belongs there.
//
// Active modes are two stacks per thread, one for each level; of modes at one level the innermost is asked first, and
// those at kCall come before those at kKernel, whichever was entered first. While a handler runs, its mode and the
// inner ones of its level are off on that thread: whatever operator the handler calls goes to the next outer mode of
// the level, and below the outermost one of kCall to autograd, autocast and the modes at kKernel, below the outermost
// one of kKernel to the kernels. So a handler can't meet itself, and operators that kernels call inside are not seen. A
// handler at kKernel runs, as what stands there does, with Autograd, ADInplaceOrView and Autocast off: what it calls is
// neither recorded nor cast. Backward formulas run their operators under the modes that are active where backward() is
// called.
//
// A mode is the key Python, or PythonKernel, in the thread's included set, and a fallback for it. Without a mode a call
// has neither, and compiled thunks, which don't have the keys, are passed by under a mode and are there again after it.
// Fake stands above PythonKernel: of a call with fake tensors a mode at kKernel sees what the Meta kernel would get,
// tensors on Meta.
//
// Note [What handlers return]
// A handler that passes the call on leaves what the operator returns. One that answers by itself may lose what the
// caller relies on, so each result is held against the operator's: the same dtype and shape, and at kCall, where the
// call is recorded (grad mode is on and an argument requires grad), requires_grad where the operator's result has it.
// All else is an error. What the operator returns is known where the handler made the very call that it got, with
// op.callBoxed and under the settings of the thread that it was called with. Otherwise the call is made once more, on
// fake tensors and without modes: composites and Autograd kernels run for it, backend kernels don't. Where that throws
// (no Meta kernel, results whose shape depends on elements, arguments that the operator refuses), and where an argument
// is a TensorSubclass, dtypes and shapes are not compared; at kCall a recorded call must then have a result that
// requires grad if the operator has an Autograd kernel or is a composite. A mode that returns other things on purpose
// says so by results_may_differ().
#pragma once

#include <shunt/core/ivalue.h>
#include <shunt/core/op_state.h>

#include <string>

namespace shunt {

class SHUNT_API DispatchMode {
 public:
  /// Where a mode stands among the keys.
  enum class Level : uint8_t {
    kCall,    // on top: operators as the user calls them
    kKernel,  // below Autograd and Autocast: in the place of the kernels
  };

  virtual ~DispatchMode();
  /// `stack`: the operator's arguments, complete, in the schema's order. To be replaced by the returns, as
  /// op.callBoxed(stack) does: exactly as many values as the operator returns, each of its type (None is an undefined
  /// tensor). All else is an error that names this mode. So is a handler that does nothing, except for operators that
  /// take just what they return (relu): theirs has returned the argument. What it throws, the caller gets.
  virtual void handle(const OperatorHandle& op, Stack* stack) = 0;
  /// For messages.
  virtual std::string name() const { return "DispatchMode"; }
  /// Where it stands. Asked when it is entered.
  virtual Level level() const { return Level::kCall; }
  /// Whether it means it where its results have another dtype or shape than the operator's, or, at kCall, lose the
  /// gradient. Asked when it is entered; nothing of Note [What handlers return] is checked then, and nothing spent on
  /// it.
  virtual bool results_may_differ() const { return false; }
};

/// Makes a mode the calling thread's innermost one of its level for a scope; the mode has to outlive it. Guards end in
/// reverse order, on the thread that made them. One mode may be active on several threads if its handler can stand
/// that. Throws where the mode's own handler is running on this thread.
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

/// How many modes are on for calls on this thread, of both levels.
SHUNT_API int64_t active_dispatch_modes();

}  // namespace shunt
