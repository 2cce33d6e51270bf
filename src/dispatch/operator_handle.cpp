#include "src/dispatch/boxed_arguments.h"
#include "src/dispatch/dispatcher_impl.h"
#include "src/dispatch/errors.h"

namespace shunt {
namespace {

void runBoxed(const OperatorHandle& op, const TableEntry& entry, DispatchKeySet ks, Stack* stack) {
  entry.boxed(entry.functor, op, ks, stack);
}

[[noreturn]] SHUNT_COLD void throwNoDefinition(const OperatorHandle& op) {
  SHUNT_CHECK(false, "operator ", op.operator_name(), " has no definition: there are kernels for it (impl), but no def with its schema");
}

}  // namespace

const SchemaRecord& definitionOf(const OperatorHandle& op) {
  const OperatorEntry* entry = op.op().entry();
  const SchemaRecord* record = entry != nullptr ? entry->schema() : nullptr;
  if (record == nullptr) [[unlikely]] throwNoDefinition(op);
  return *record;
}

bool OperatorHandle::hasSchema() const { return op_->entry() != nullptr && op_->entry()->schema() != nullptr; }

const FunctionSchema& OperatorHandle::schema() const {
  return definitionOf(*this).schema;
}

void OperatorHandle::callBoxed(Stack* stack) const {
  const uint64_t keys = boxed::prepare(*this, *stack);
  detail::CallFrame frame(*op_);
  const OpState& s = frame.state(*op_);
  const DispatchKeySet ks = detail::effectiveKeys(s, keys);
  if (detail::trace_enabled.load(std::memory_order_relaxed)) [[unlikely]] detail::traceStep("call (boxed)", s, ks);
  runBoxed(*this, s.lookup(ks), ks, stack);
}

void OperatorHandle::redispatchBoxed(DispatchKeySet ks, Stack* stack) const {
  boxed::prepare<false>(*this, *stack);
  const OpState* s = detail::threadFrames().innermost();
  std::optional<detail::CallFrame> frame;
  if (s == nullptr || s->op() != op_) {
    frame.emplace(*op_);
    s = &frame->state(*op_);
  }
  ks = ks & s->maskFor(ks);
  if (detail::trace_enabled.load(std::memory_order_relaxed)) [[unlikely]] detail::traceStep("redispatch (boxed)", *s, ks);
  runBoxed(*this, s->lookup(ks), ks, stack);
}

void OperatorHandle::assertSignature(const CppSignature& signature) const {
  OperatorEntry* entry = op_->entry();
  SHUNT_CHECK(entry != nullptr, "operator ", operator_name(), " is not registered");
  MutexLock lock(Dispatcher::singleton().implForHandles().mutex);
  if (const CppSignature* known = entry->signature()) {
    SHUNT_CHECK(*known == signature, "operator ", operator_name(), ": typed<>() was asked for another C++ signature than its kernels have\n  asked: ",
                signature.str(), "\n  known: ", known->str(), "\n         from ", entry->signature_place());
  } else if (const SchemaRecord* schema = entry->schema()) {
    checkAskedAgainstSchema(schema->schema, schema->place, signature);
  }
}

bool OperatorHandle::hasKernelForDispatchKey(DispatchKey key) const {
  if (op_->entry() == nullptr) return false;
  MutexLock lock(Dispatcher::singleton().implForHandles().mutex);
  return op_->entry()->kernels().find(key) != nullptr;
}

}  // namespace shunt
