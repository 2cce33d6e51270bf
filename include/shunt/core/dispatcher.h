// Dispatcher: the process's registry of operators. One, never destroyed.
//
// Any thread may look up, register and deregister at any time, also from inside kernels, listeners and destructors;
// calls never lock. Registrations are RAII: destroying the handle takes the registration back, the one below it (for
// the same operator and key) is in force again before the destructor returns. Handles outlive the dispatcher
// harmlessly.
#pragma once

#include <shunt/core/op_state.h>

#include <functional>
#include <memory>
#include <source_location>
#include <span>

namespace shunt {

/// Undoes one registration when destroyed. Movable.
class SHUNT_API RegistrationHandle {
 public:
  RegistrationHandle() = default;
  explicit RegistrationHandle(std::function<void()> undo) : undo_(std::move(undo)) {}
  RegistrationHandle(RegistrationHandle&& o) noexcept : undo_(std::exchange(o.undo_, nullptr)) {}
  RegistrationHandle& operator=(RegistrationHandle&& o) noexcept {
    std::swap(undo_, o.undo_);
    return *this;
  }
  ~RegistrationHandle() { release(); }
  void release() {
    if (auto undo = std::exchange(undo_, nullptr)) undo();
  }

 private:
  std::function<void()> undo_;
};

/// A kernel, and the run-time or alias key that it is for.
struct KernelForKey {
  DispatchKey key;
  KernelFunction kernel;
};

/// Told after the fact, outside the dispatcher's lock, on the thread that registered, so perhaps on several at once.
/// What a listener throws is logged as a warning: the registration stands, and the other listeners are told.
class SHUNT_API OpRegistrationListener {
 public:
  virtual ~OpRegistrationListener() = default;
  /// An operator got its definition, or lost it.
  virtual void onOperatorRegistered(const OperatorHandle& op) = 0;
  virtual void onOperatorDeregistered(const OperatorHandle& op) = 0;
};

class SHUNT_API Dispatcher {
 public:
  /// The process's one dispatcher.
  static Dispatcher& singleton();

  /// Operators with a definition or a kernel.
  std::optional<OperatorHandle> findOp(const OperatorName& name) const;
  /// Only operators with a definition.
  std::optional<OperatorHandle> findSchema(const OperatorName& name) const;
  /// Throws with near names when there is no such operator.
  OperatorHandle findSchemaOrThrow(const char* name, const char* overload = "") const;
  /// Names of all operators that have a definition or a kernel, sorted.
  std::vector<OperatorName> getAllOpNames() const;

  /// Names of the operators that have a kernel for exactly this key; without a key, of all, sorted.
  std::vector<OperatorName> getRegistrationsForDispatchKey(std::optional<DispatchKey> key) const;
  /// Operators with kernels and without a definition.
  std::vector<OperatorHandle> findDanglingImpls() const;
  template <class R, class... A>
  R call(const TypedOperatorHandle<R(A...)>& op, A... a) const {
    return op.call(std::forward<A>(a)...);
  }
  /// Calls the kernel of the highest key in `ks`: how a kernel hands a call on.
  template <class R, class... A>
  R redispatch(const TypedOperatorHandle<R(A...)>& op, DispatchKeySet ks, A... a) const {
    return op.redispatch(ks, std::forward<A>(a)...);
  }
  /// Calls it on a stack: takes the arguments off, leaves the returns.
  void callBoxed(const OperatorHandle& op, Stack* stack) const { op.callBoxed(stack); }

  // Each validates first and changes nothing when it refuses what it is given. Where memory ends, what was not yet
  // published is taken back; what was stays.
  RegistrationHandle registerDef(FunctionSchema schema, std::source_location where);
  /// With `kernels`, which must be of one C++ signature that fits the schema: all are registered or nothing is, and no
  /// other thread sees a part. The definition's handle comes first, then the kernels' in their order.
  std::vector<RegistrationHandle> registerDef(FunctionSchema schema, std::span<const KernelForKey> kernels,
                                              std::source_location where);
  RegistrationHandle registerImpl(OperatorName name, DispatchKey key, KernelFunction kernel,
                                  std::source_location where);
  RegistrationHandle registerFallback(DispatchKey key, KernelFunction kernel, std::source_location where);
  RegistrationHandle registerFallback(DispatchKey key, KernelFunction kernel, const std::string& /*debug*/,
                                      std::source_location where = std::source_location::current()) {
    return registerFallback(key, std::move(kernel), where);
  }
  /// Claims a namespace for SHUNT_LIBRARY, which a process has once.
  RegistrationHandle registerLibrary(std::string ns, std::source_location where);
  /// First tells the listener of every operator that is defined; when it throws meanwhile, the error leaves from here
  /// and the listener is not added. It hears once of each definition and of its end, also of those that other threads
  /// register or take back meanwhile: an operator it is told of here may have lost its definition already.
  RegistrationHandle addRegistrationListener(std::unique_ptr<OpRegistrationListener> listener);
  /// Binds a constant-initialised symbol to its name, so that calls through it need no lookup. For generated code.
  void bindOperator(Operator& op);

  /// While it lives, registrations made on its thread take effect together, when it is destroyed: loading a library of
  /// many kernels derives each table once. One at a time in the process; a second one is a no-op.
  class SHUNT_API Batch {
   public:
    Batch();
    ~Batch();
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;

   private:
    bool active_;
  };

  /// The backend fallbacks, as dumpState prints them.
  std::string dumpFallbacks() const;
  /// checkInvariants of every operator.
  void checkInvariants() const;

  /// How many operators there are, and how many states of them were published, replaced and freed.
  struct Stats {
    size_t operators, states_published, states_retired, states_freed;
  };
  /// Counts since the process began.
  Stats stats() const;
  /// Frees retired states that no call uses; registering does it now and then by itself.
  size_t reclaim();

  struct Impl;
  /// For src/dispatch.
  Impl& implForHandles() const { return *impl_; }

 private:
  Dispatcher();
  Impl* impl_;
};

inline std::vector<OperatorName> Dispatcher::getRegistrationsForDispatchKey(std::optional<DispatchKey> key) const {
  std::vector<OperatorName> names = getAllOpNames();
  if (key)
    std::erase_if(names, [&](const OperatorName& name) {
      const auto op = findOp(name);
      return !op || !op->hasKernelForDispatchKey(*key);
    });
  return names;
}
inline std::vector<OperatorHandle> Dispatcher::findDanglingImpls() const {
  std::vector<OperatorHandle> out;
  for (const OperatorName& name : getAllOpNames())
    if (const auto op = findOp(name); op && !op->hasSchema()) out.push_back(*op);
  return out;
}

/// One step of a call's way: its kind ("call", "redispatch", or either "(boxed)"), the keys it looks at, and the key it
/// went to.
struct TraceStep {
  const char* kind;
  OperatorHandle op;
  DispatchKeySet keys;
  DispatchKey key;
  const char* reason;
  int depth;
};
/// Called for every step of every thread, on that thread, inside the call: it must not call operators.
using TraceSink = void (*)(const TraceStep&);

/// Reports every dispatch step to the sink (default: one line on stderr); also SHUNT_TRACE=1. Null restores the
/// default.
SHUNT_API void set_trace(bool on, TraceSink sink = nullptr);

}  // namespace shunt
