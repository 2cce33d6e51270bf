// OpState: an operator's immutable dispatch state, which Operator publishes and calls read. Any thread may call.
//
// - One pure function computes it from the registrations, under the dispatcher's lock (src/dispatch/compute_table.h).
// - Operator::state publishes it. Note [One world per call] (world.h) says how it is used and reclaimed.
// - A redispatch uses the OpState in its call's frame. So a call runs in the world in which it started, even if a
//   kernel inside it registers.
#pragma once

#include <shunt/core/hot.h>
#include <shunt/core/kernel_function.h>
#include <shunt/core/tls.h>
#include <shunt/core/validity.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <source_location>

namespace shunt {

class Operator;
class OperatorEntry;

/// Why a table slot holds its kernel: Note [Precedence] (src/dispatch/compute_table.h).
enum class EntryReason : uint8_t {
  kMissing,
  kKernel,
  kCompositeExplicit,
  kCompositeImplicit,
  kAutogradAlias,
  kAutocastAlias,
  kBackendFallback,
  kFallthrough,
  kCompositeHandledBelow,
  kAmbiguousAutogradOther,
};

/// One slot of the derived table. `version` changes with the slot's content and is never reused.
struct TableEntry {
  void* unboxed = nullptr;
  BoxedKernelFn boxed = nullptr;  // never null in a table: missing slots hold a function that throws
  OperatorKernel* functor = nullptr;
  uint64_t version = 0;
  EntryReason reason = EntryReason::kMissing;

  /// Runs the kernel in the caller's CallFrame, boxing the arguments if it has only the boxed form. R(A...) must be the
  /// operator's C++ signature.
  template <class R, class... A>
  SHUNT_ALWAYS_INLINE R call(const Operator& op, DispatchKeySet ks, A... a) const;
};

class SHUNT_API OpState {
 public:
  explicit OpState(const Operator* op) : op_(op) {}
  /// The operator whose state this is.
  const Operator* op() const { return op_; }
  /// One of kNumSlots slots; the index isn't checked.
  const TableEntry& entry(int slot) const { return table_[static_cast<size_t>(slot)]; }
  /// The entry for the highest key in `ks`, which has to be masked by maskFor().
  const TableEntry& lookup(DispatchKeySet ks) const { return entry(ks.highestSlot()); }
  /// The keys that a call considers: those that do not fall through on its highest backend.
  SHUNT_ALWAYS_INLINE DispatchKeySet maskFor(DispatchKeySet ks) const {
    if (!mask_per_backend_) [[likely]]
      return mask_;
    return backend_masks_[static_cast<size_t>(ks.highestBackend())];
  }
  /// Null if there are no hot entries.
  const detail::HotTable* hot() const { return hot_.get(); }

 private:
  friend class OperatorEntry;
  friend struct TableComputer;
  friend struct HotEntries;
  const Operator* op_;
  DispatchKeySet mask_ = DispatchKeySet::full();
  std::unique_ptr<const detail::HotTable> hot_;
  bool mask_per_backend_ = false;
  std::array<DispatchKeySet, kNumBackends> backend_masks_{};
  std::array<TableEntry, kNumSlots> table_{};
  std::vector<intrusive_ptr<OperatorKernel>> keep_alive_;
  std::vector<intrusive_ptr<intrusive_ptr_target>> thunks_;  // of the hot entries
};

/// An operator's identity and its published state. The dictionary's operators are constant-initialised symbols; others
/// live on the heap. None is ever destroyed, so handles stay valid.
class SHUNT_API Operator {
 public:
  constexpr Operator(const char* name, const char* overload) : name_(name), overload_(overload) {}
  Operator(const Operator&) = delete;
  Operator& operator=(const Operator&) = delete;
  /// The qualified name without the overload: "aten::add".
  std::string_view name() const { return name_; }
  std::string_view overload() const { return overload_; }
  /// Null until something is registered. Read it through a CallFrame, which keeps the state alive.
  const std::atomic<const OpState*>& state() const { return state_; }
  OperatorEntry* entry() const { return entry_.load(std::memory_order_acquire); }

 private:
  friend class OperatorEntry;
  std::atomic<const OpState*> state_{nullptr};
  std::atomic<OperatorEntry*> entry_{nullptr};
  const char* name_;
  const char* overload_;
};

/// A handle whose calls take C++ arguments. Only OperatorHandle::typed() makes one, which checks the signature.
template <class Signature>
class TypedOperatorHandle;

/// A handle to an operator. Valid until the process ends.
class SHUNT_API OperatorHandle {
 public:
  explicit OperatorHandle(const Operator& op) : op_(&op) {}
  /// The operator itself.
  const Operator& op() const { return *op_; }
  const OperatorName operator_name() const {
    return OperatorName(std::string(op_->name()), std::string(op_->overload()));
  }
  /// Whether it is defined. Kernels may be registered before the definition.
  bool hasSchema() const;
  /// Throws if the operator has no definition.
  const FunctionSchema& schema() const;
  /// Takes the arguments from the top of the stack, complete and in the schema's order, and leaves the returns there.
  void callBoxed(Stack* stack) const;
  void callBoxed(Stack& stack) const { callBoxed(&stack); }
  /// The same for the keys in `ks` only; the thread's key sets are not applied.
  void redispatchBoxed(DispatchKeySet ks, Stack* stack) const;
  /// The registrations, one per line, in a stable order.
  std::string dumpState() const;
  /// The derived table: every slot with its kernel and the reason.
  std::string dumpComputedTable() const;
  /// Recomputes the table and compares. Throws an error with the difference.
  void checkInvariants() const;
  /// Whether a kernel is registered for exactly this key.
  bool hasKernelForDispatchKey(DispatchKey key) const;
  /// Text: the entry that a call with exactly these keys would run, and why.
  std::string explainFor(DispatchKeySet ks) const;

  /// Throws unless `Signature` is the operator's C++ signature. If no kernel has set one yet, `Signature` must fit the
  /// schema, and kernels registered later must have it, since handles made earlier call them with it.
  template <class Signature>
  TypedOperatorHandle<Signature> typed(std::source_location where = std::source_location::current()) const;

  bool operator==(const OperatorHandle& o) const { return op_ == o.op_; }

 protected:
  SHUNT_API void assertSignature(const CppSignature& signature, std::source_location where) const;
  const Operator* op_;
};

namespace detail {

extern SHUNT_API std::atomic<bool> trace_enabled;  // SHUNT_TRACE or set_trace
SHUNT_API SHUNT_COLD void traceStep(const char* kind, const OpState& state, DispatchKeySet ks);

[[noreturn]] SHUNT_API SHUNT_COLD void throwNeverRegistered(const Operator& op);

/// Steps C1, C2 and C4 of Note [One world per call], around one call.
class CallFrame {
 public:
  SHUNT_ALWAYS_INLINE explicit CallFrame(const Operator& op) : frames_(threadFrames()) {
    state_ = frames_.enter(op.state(), depth_);
  }
  SHUNT_ALWAYS_INLINE ~CallFrame() { frames_.leave(depth_); }
  CallFrame(const CallFrame&) = delete;
  CallFrame& operator=(const CallFrame&) = delete;
  SHUNT_ALWAYS_INLINE const OpState& state(const Operator& op) const {
    if (state_ == nullptr) [[unlikely]]
      throwNeverRegistered(op);
    return *state_;
  }

 private:
  Frames& frames_;
  const OpState* state_;
  int depth_;
};

// ---- keys of the arguments: tensors, optional tensors, lists of both ---------------------------------------------
SHUNT_ALWAYS_INLINE uint64_t keysOf(const Tensor& t) {
  return t.defined() ? t.unsafeGetTensorImpl()->key_set().raw() : 0;
}
SHUNT_ALWAYS_INLINE uint64_t keysOf(const std::optional<Tensor>& t) { return t ? keysOf(*t) : 0; }
inline uint64_t keysOf(TensorList list) {
  uint64_t ks = 0;
  for (const Tensor& t : list) ks |= keysOf(t);
  return ks;
}
inline uint64_t keysOf(TensorOptList list) {
  uint64_t ks = 0;
  for (const auto& t : list) ks |= keysOf(t);
  return ks;
}
inline uint64_t keysOf(const Generator& g) {
  return g.defined()
             ? DispatchKeySet::of(backendOf(g.device().type())).raw() | DispatchKeySet::of(Functionality::Dense).raw()
             : 0;
}
inline uint64_t keysOf(const std::optional<Generator>& g) { return g ? keysOf(*g) : 0; }
template <class T>
SHUNT_ALWAYS_INLINE uint64_t keysOf(const T&) {
  return 0;
}

SHUNT_ALWAYS_INLINE DispatchKeySet effectiveKeys(const OpState& s, uint64_t args) {
  const LocalState& tls = tls_state;
  const auto ks = DispatchKeySet::fromRaw((args | tls.included) & ~tls.excluded);
  return ks & s.maskFor(ks);
}

/// A call that is observed, so that the compiler may be asked for a thunk.
template <class R, class... A>
SHUNT_NOINLINE R callObserved(const Operator& op, const OpState& s, DispatchKeySet ks, A... a) {
  ObservedCall observed(s, ks, signatureOf(a...));
  return s.lookup(ks).template call<R, A...>(op, ks, std::forward<A>(a)...);
}

/// A call through a hot entry that is timed. It runs the entry's code or, for comparison, the table's kernel.
template <class R, class... A>
SHUNT_NOINLINE R callTimed(const Operator& op, const OpState& s, DispatchKeySet ks, void* code, A... a) {
  TimedCall timed(s, ks, code, numelOf(a...));
  if (timed.interpreted()) return s.lookup(ks).template call<R, A...>(op, ks, std::forward<A>(a)...);
  return reinterpret_cast<R (*)(OperatorKernel*, DispatchKeySet, A...)>(code)(nullptr, ks, std::forward<A>(a)...);
}

template <class R, class... A>
SHUNT_COLD SHUNT_NOINLINE R callTraced(const Operator& op, const OpState& s, DispatchKeySet ks, A... a) {
  traceStep("call", s, ks);
  return s.lookup(ks).template call<R, A...>(op, ks, std::forward<A>(a)...);
}

/// A call whose frame holds `s`: probes the hot entries, then the table.
template <class R, class... A>
SHUNT_ALWAYS_INLINE R callInWorld(const Operator& op, const OpState& s, DispatchKeySet ks, A... a) {
  if (trace_enabled.load(std::memory_order_relaxed)) [[unlikely]]
    return callTraced<R, A...>(op, s, ks, std::forward<A>(a)...);
  const TableEntry* entry = nullptr;
  const HotTable* hot = s.hot();
  const HotKeys* found = nullptr;
  if (hot != nullptr && (found = &hot->find(ks.raw()))->keys == ks.raw()) {
    const uint64_t signature = signatureOf(a...);
    const size_t place = hotPlace(signature, found->multiplier);
    if (found->signatures[place] == signature) [[likely]] {
      void* code = found->code[place];
      if (--tls_state.timing_countdown == 0) [[unlikely]]
        return callTimed<R, A...>(op, s, ks, code, std::forward<A>(a)...);
      return reinterpret_cast<R (*)(OperatorKernel*, DispatchKeySet, A...)>(code)(nullptr, ks, std::forward<A>(a)...);
    }
    entry = found->entry;
  } else {
    entry = &s.lookup(ks);
  }
  if (--tls_state.observe_countdown == 0) [[unlikely]]
    return callObserved<R, A...>(op, s, ks, std::forward<A>(a)...);
  return entry->template call<R, A...>(op, ks, std::forward<A>(a)...);
}

template <class R, class... A>
SHUNT_ALWAYS_INLINE R callOperator(const Operator& op, A... a) {
  CallFrame frame(op);
  const OpState& s = frame.state(op);
  const DispatchKeySet ks = effectiveKeys(s, (uint64_t{0} | ... | keysOf(a)));
  return callInWorld<R, A...>(op, s, ks, std::forward<A>(a)...);
}

template <class R, class... A>
SHUNT_NOINLINE R redispatchInNewWorld(const Operator& op, DispatchKeySet ks, A... a) {
  CallFrame frame(op);
  const OpState& s = frame.state(op);
  ks = ks & s.maskFor(ks);
  if (trace_enabled.load(std::memory_order_relaxed)) [[unlikely]]
    traceStep("redispatch", s, ks);
  return s.lookup(ks).template call<R, A...>(op, ks, std::forward<A>(a)...);
}

/// `ks` holds exactly the keys that may still act. The thread's sets are not applied again.
template <class R, class... A>
SHUNT_ALWAYS_INLINE R redispatchOperator(const Operator& op, DispatchKeySet ks, A... a) {
  const Frames* frames = tls_state.frames;
  const OpState* s = frames != nullptr ? frames->innermost() : nullptr;
  // Not inside a call of this operator, or on another thread than the call: start a new world.
  if (s == nullptr || s->op() != &op) [[unlikely]]
    return redispatchInNewWorld<R, A...>(op, ks, std::forward<A>(a)...);
  ks = ks & s->maskFor(ks);
  if (trace_enabled.load(std::memory_order_relaxed)) [[unlikely]]
    traceStep("redispatch", *s, ks);
  return s->lookup(ks).template call<R, A...>(op, ks, std::forward<A>(a)...);
}

// What a thunk was compiled for. The compiler replaces calls of these by constants; outside thunks they throw.

/// The state of an operator whose chain is in the thunk.
SHUNT_API const OpState& plannedState(const Operator& op);
/// The keyset with which the thunk expects to call an operator that it inlined.
SHUNT_API DispatchKeySet plannedKeys(const Operator& op);
/// Whether the table entries that the thunk relied on still stand.
SHUNT_API const world::Validity<HardwarePlatform>& plannedValidity();

/// redispatchOperator inside a thunk: the compiler (jit/emit) replaces the former by this. The innermost call is the
/// thunk's and its table is known, so the lookup folds.
template <class R, class... A>
SHUNT_ALWAYS_INLINE R redispatchPlanned(const Operator& op, DispatchKeySet ks, A... a) {
  const OpState& s = plannedState(op);
  ks = ks & s.maskFor(ks);
  return s.lookup(ks).template call<R, A...>(op, ks, std::forward<A>(a)...);
}

/// callInWorld, if a call of an inlined operator differs from the plan.
template <class R, class... A>
SHUNT_NOINLINE R callUnplanned(const Operator& op, const OpState& s, DispatchKeySet ks, A... a) {
  return callInWorld<R, A...>(op, s, ks, std::forward<A>(a)...);
}

/// callOperator inside a thunk of another operator, with the chain for the planned keys inlined. It counts as a new
/// call: step I1 of Note [Thunks and the world] (src/dispatch/publication.h).
template <class R, class... A>
SHUNT_ALWAYS_INLINE R callPlanned(const Operator& op, A... a) {
  CallFrame frame(op);
  const OpState& s = frame.state(op);
  const DispatchKeySet ks = effectiveKeys(s, (uint64_t{0} | ... | keysOf(a)));
  const DispatchKeySet planned = plannedKeys(op);
  if (ks != planned || !plannedValidity().holds() || trace_enabled.load(std::memory_order_relaxed)) [[unlikely]]
    return callUnplanned<R, A...>(op, s, ks, std::forward<A>(a)...);
  return plannedState(op).lookup(planned).template call<R, A...>(op, planned, std::forward<A>(a)...);
}

}  // namespace detail

template <class R, class... A>
SHUNT_ALWAYS_INLINE R TableEntry::call(const Operator& op, DispatchKeySet ks, A... a) const {
  if (unboxed != nullptr) [[likely]]
    return reinterpret_cast<R (*)(OperatorKernel*, DispatchKeySet, A...)>(unboxed)(functor, ks, std::forward<A>(a)...);
  return boxing::callBoxedAsUnboxed<R, A...>(boxed, functor, OperatorHandle(op), ks, std::forward<A>(a)...);
}

template <class Signature>
class TypedOperatorHandle;
template <class R, class... A>
class TypedOperatorHandle<R(A...)> : public OperatorHandle {
 public:
  R call(A... a) const { return detail::callOperator<R, A...>(*op_, std::forward<A>(a)...); }
  R redispatch(DispatchKeySet ks, A... a) const {
    return detail::redispatchOperator<R, A...>(*op_, ks, std::forward<A>(a)...);
  }

 private:
  friend class OperatorHandle;
  explicit TypedOperatorHandle(const Operator& op) : OperatorHandle(op) {}
};

template <class Signature>
TypedOperatorHandle<Signature> OperatorHandle::typed(std::source_location where) const {
  assertSignature(CppSignature::of<Signature>(), where);
  return TypedOperatorHandle<Signature>(*op_);
}

}  // namespace shunt
