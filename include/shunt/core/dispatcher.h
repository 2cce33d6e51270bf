// Dispatcher: the registry of a process's operators, their definitions, kernels and backend fallbacks. A process has
// one, which is never destroyed.
//
// - Any thread may look up, register and deregister at any time, also inside kernels, listeners and destructors.
// - Calls take no lock.
// - Registrations are RAII: destroying a handle takes its registration back. The registration that it overrode for the
//   same operator and key is in force again before the destructor returns.
// - Handles may outlive main() and static destructors.
#pragma once

#include <shunt/core/op_state.h>

#include <functional>
#include <memory>
#include <source_location>
#include <span>

namespace shunt {

/// Undoes one registration when destroyed. Movable; a handle that was moved from undoes nothing.
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
  /// Undoes the registration now. A second call does nothing.
  void release() {
    if (auto undo = std::exchange(undo_, nullptr)) undo();
  }

 private:
  std::function<void()> undo_;
};

/// A kernel and the run-time or alias key that it is registered for.
struct KernelForKey {
  DispatchKey key;
  KernelFunction kernel;
};

/// Receives each definition and its removal, after the fact.
/// - Called outside the dispatcher's lock, on the thread that registered: several threads may call it at once.
/// - An exception is logged as a warning. The registration stands, and the other listeners are called.
class SHUNT_API OpRegistrationListener {
 public:
  virtual ~OpRegistrationListener() = default;
  /// The operator was defined, or its definition was taken back.
  virtual void onOperatorRegistered(const OperatorHandle& op) = 0;
  virtual void onOperatorDeregistered(const OperatorHandle& op) = 0;
};

class SHUNT_API Dispatcher {
 public:
  /// The dispatcher, made at the first use.
  static Dispatcher& singleton();

  /// The operator, or nothing if it has neither a definition nor a kernel.
  std::optional<OperatorHandle> findOp(const OperatorName& name) const;
  /// The operator, or nothing if it has no definition.
  std::optional<OperatorHandle> findSchema(const OperatorName& name) const;
  /// Throws shunt::Error with similar names if no such operator is defined.
  OperatorHandle findSchemaOrThrow(const char* name, const char* overload = "") const;
  /// Names of all operators that have a definition or a kernel, sorted.
  std::vector<OperatorName> getAllOpNames() const;

  /// Sorted names of the operators with a kernel for exactly this key. Without a key: getAllOpNames().
  std::vector<OperatorName> getRegistrationsForDispatchKey(std::optional<DispatchKey> key) const;
  /// Operators with kernels and without a definition.
  std::vector<OperatorHandle> findDanglingImpls() const;
  /// Calls the operator: computes the keyset from the arguments and the thread, then runs the highest key's kernel.
  template <class R, class... A>
  R call(const TypedOperatorHandle<R(A...)>& op, A... a) const {
    return op.call(std::forward<A>(a)...);
  }
  /// Runs the kernel of the highest key in `ks`. Wrapper kernels pass the keys below theirs.
  template <class R, class... A>
  R redispatch(const TypedOperatorHandle<R(A...)>& op, DispatchKeySet ks, A... a) const {
    return op.redispatch(ks, std::forward<A>(a)...);
  }
  /// Calls the operator with the arguments on top of the stack, and replaces them by the returns.
  void callBoxed(const OperatorHandle& op, Stack* stack) const { op.callBoxed(stack); }

  // Each function below validates its arguments first. If it throws shunt::Error, nothing has changed. If memory runs
  // out, unpublished changes are taken back and published ones stay.
  RegistrationHandle registerDef(FunctionSchema schema, std::source_location where);
  /// Registers the definition together with `kernels`: all or nothing, and no other thread sees a part. The kernels
  /// must have one C++ signature, which fits the schema. Returns the definition's handle, then the kernels' in order.
  std::vector<RegistrationHandle> registerDef(FunctionSchema schema, std::span<const KernelForKey> kernels,
                                              std::source_location where);
  RegistrationHandle registerImpl(OperatorName name, DispatchKey key, KernelFunction kernel,
                                  std::source_location where);
  RegistrationHandle registerFallback(DispatchKey key, KernelFunction kernel, std::source_location where);
  RegistrationHandle registerFallback(DispatchKey key, KernelFunction kernel, const std::string& /*debug*/,
                                      std::source_location where = std::source_location::current()) {
    return registerFallback(key, std::move(kernel), where);
  }
  /// Claims a namespace for SHUNT_LIBRARY. Throws if it is claimed already.
  RegistrationHandle registerLibrary(std::string ns, std::source_location where);
  /// Calls the listener for every defined operator, then adds it.
  /// - If the listener throws during these calls, the exception leaves this function and the listener is not added.
  /// - The listener receives each definition and each removal once, also those that other threads make meanwhile. So a
  ///   reported operator may have lost its definition already.
  RegistrationHandle addRegistrationListener(std::unique_ptr<OpRegistrationListener> listener);
  /// Binds a constant-initialised Operator to its name, so that calls through it need no lookup. For generated code.
  /// Throws if the name is known already.
  void bindOperator(Operator& op);

  /// Delays the effect of this thread's registrations until the batch is destroyed. Loading a library of many kernels
  /// then derives each table once. A process has at most one active batch; another has no effect.
  class SHUNT_API Batch {
   public:
    Batch();
    ~Batch();
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;

   private:
    bool active_;
  };

  /// The backend fallbacks in dumpState's format.
  std::string dumpFallbacks() const;
  /// OperatorHandle::checkInvariants for every operator.
  void checkInvariants() const;

  /// The number of operators, and of their states: published so far, retired and not yet freed, freed so far.
  struct Stats {
    size_t operators, states_published, states_retired, states_freed;
  };
  /// Takes the dispatcher's lock.
  Stats stats() const;
  /// Frees the retired states that no call uses, and returns their number. Registrations also do this now and then.
  size_t reclaim();

  struct Impl;
  /// The state behind the lock. Only src/dispatch uses it.
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

/// One dispatch step of a call, as a TraceSink receives it.
struct TraceStep {
  const char* kind;  // "call" or "redispatch"; boxed ones end in "(boxed)"
  OperatorHandle op;
  DispatchKeySet keys;  // after the operator's mask
  DispatchKey key;      // whose kernel runs
  const char* reason;   // why the slot holds that kernel
  int depth;            // calls in progress on the thread
};
/// Called for every step of every thread, on that thread, inside the call. It must not call operators.
using TraceSink = void (*)(const TraceStep&);

/// Turns the report of dispatch steps on or off, for all threads. A null sink means the default: one line per step on
/// stderr, as with SHUNT_TRACE.
SHUNT_API void set_trace(bool on, TraceSink sink = nullptr);

}  // namespace shunt
