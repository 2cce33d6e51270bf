// OperatorHandle: boxed calls and redispatches, and what can be asked of an operator (op_state.h).
#include "src/dispatch/awaited_call.h"
#include "src/dispatch/boxed_arguments.h"
#include "src/dispatch/dispatcher_impl.h"
#include "src/dispatch/errors.h"
#include "src/dispatch/profile.h"
#include "src/dispatch/state_in_use.h"
#include "src/dispatch/trace.h"

namespace shunt {
namespace {

void runBoxed(const OperatorHandle& op, const TableEntry& entry, DispatchKeySet ks, Stack* stack) {
  entry.boxed(entry.functor, op, ks, stack);
}

/// Inside the call's frame.
SHUNT_COLD SHUNT_NOINLINE void makeWatchedCall(const OperatorHandle& op, DispatchKeySet ks, Stack* stack) {
  const OpState& s = *detail::threadFrames().innermost();
  if (detail::trace_enabled.load(std::memory_order_relaxed)) detail::traceStep("call (boxed)", s, ks);
  const profile::TimedScope timed(op.op(), ks);
  runBoxed(op, s.lookup(ks), ks, stack);
}

SHUNT_ALWAYS_INLINE void makeCall(const OperatorHandle& op, Stack* stack) {
  const uint64_t keys = boxed::prepare(op, *stack);
  detail::CallFrame frame(op.op());
  const OpState& s = frame.state(op.op());
  const DispatchKeySet ks = detail::effectiveKeys(s, keys);
  if (detail::boxed_calls_are_watched.load(std::memory_order_relaxed)) [[unlikely]]
    return makeWatchedCall(op, ks, stack);
  runBoxed(op, s.lookup(ks), ks, stack);
}

/// While nobody waits, so that only the outermost of equal calls is met.
struct Unawaited {
  Unawaited() : saved(std::exchange(detail::awaited_call, nullptr)) {}
  ~Unawaited() { detail::awaited_call = saved; }
  Unawaited(const Unawaited&) = delete;
  Unawaited& operator=(const Unawaited&) = delete;
  detail::AwaitedCall* saved;
};

SHUNT_NOINLINE void callWhileAwaited(const OperatorHandle& op, Stack* stack) {
  detail::AwaitedCall& awaited = *detail::awaited_call;
  if (!awaited.isMadeBy(op.op(), *stack)) return makeCall(op, stack);
  const size_t below = stack->size() - awaited.count;
  const Unawaited meanwhile;
  makeCall(op, stack);
  awaited.returned(awaited, *stack, below);
}

[[noreturn]] SHUNT_COLD void throwNoDefinition(const OperatorHandle& op) {
  const std::string gone = withdrawalOf(op);
  SHUNT_CHECK(gone.empty(), gone);
  SHUNT_CHECK(false, "operator ", op.operator_name(),
              " has no definition: there are kernels for it (impl), but no def with its schema");
}

}  // namespace

namespace detail {

constinit thread_local AwaitedCall* awaited_call = nullptr;

bool AwaitedCall::isMadeBy(const Operator& called, const Stack& stack) const {
  if (&called != op || stack.size() < count || Settings::now() != settings) return false;
  const IValue* given = stack.data() + (stack.size() - count);
  for (size_t i = 0; i < count; ++i)
    if (!isIdentical(given[i], arguments[i])) return false;
  return true;
}

}  // namespace detail

const SchemaRecord& definitionOf(const OperatorHandle& op) {
  const OperatorEntry* entry = op.op().entry();
  const SchemaRecord* record = entry != nullptr ? entry->schema() : nullptr;
  if (record == nullptr) [[unlikely]]
    throwNoDefinition(op);
  return *record;
}

bool OperatorHandle::hasSchema() const { return op_->entry() != nullptr && op_->entry()->schema() != nullptr; }

const FunctionSchema& OperatorHandle::schema() const { return definitionOf(*this).schema; }

void OperatorHandle::callBoxed(Stack* stack) const {
  if (detail::awaited_call != nullptr) [[unlikely]]
    return callWhileAwaited(*this, stack);
  makeCall(*this, stack);
}

void OperatorHandle::redispatchBoxed(DispatchKeySet ks, Stack* stack) const {
  boxed::prepare<false>(*this, *stack);
  const detail::StateInUse s(*op_);
  ks = ks & s->maskFor(ks);
  if (detail::trace_enabled.load(std::memory_order_relaxed)) [[unlikely]]
    detail::traceStep("redispatch (boxed)", *s, ks);
  runBoxed(*this, s->lookup(ks), ks, stack);
}

void OperatorHandle::assertSignature(const CppSignature& signature, std::source_location where) const {
  OperatorEntry* entry = op_->entry();
  SHUNT_CHECK(entry != nullptr, "operator ", operator_name(), " is not registered");
  MutexLock lock(Dispatcher::singleton().implForHandles().mutex);
  if (const CppSignature* known = entry->signature()) {
    SHUNT_CHECK(*known == signature, "Tried to access or call an operator with a wrong signature.\n  operator: ",
                entry->schema() != nullptr ? entry->schema()->schema.str() : operator_name().str(),
                "\n  typed<>() asked: ", signature.str(), "\n         at ", placeOf(where),
                "\n  known:           ", known->str(), "\n         from ", entry->signature_place());
  } else if (const SchemaRecord* schema = entry->schema()) {
    checkAskedAgainstSchema(schema->schema, schema->place, signature, placeOf(where));
  }
  entry->rememberAsked(signature, where);
}

bool OperatorHandle::hasKernelForDispatchKey(DispatchKey key) const {
  if (op_->entry() == nullptr) return false;
  MutexLock lock(Dispatcher::singleton().implForHandles().mutex);
  return op_->entry()->kernels().find(key) != nullptr;
}

}  // namespace shunt
