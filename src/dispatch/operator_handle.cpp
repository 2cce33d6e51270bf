#include "src/dispatch/dispatcher_impl.h"
#include "src/dispatch/errors.h"

namespace shunt {
namespace {

bool holds(const IValue& v, const Type& type) {
  if (v.isNone()) return type.optional;
  if (type.list) {
    switch (type.kind) {
      case TypeKind::Tensor: return type.element_optional ? v.isOptionalTensorList() : v.isTensorList();
      case TypeKind::Int: return v.isIntList();
      default: return !v.isTensor() && !v.isScalar() && !v.isString();
    }
  }
  switch (type.kind) {
    case TypeKind::Tensor: return v.isTensor();
    case TypeKind::Scalar: return v.isScalar();
    case TypeKind::Float: return v.isScalar();
    case TypeKind::Int: case TypeKind::ScalarType: case TypeKind::Layout: case TypeKind::MemoryFormat: return v.isInt() || v.isBool();
    case TypeKind::Bool: return v.isBool();
    case TypeKind::String: return v.isString();
    case TypeKind::Device: return v.isDevice();
    case TypeKind::Generator: return v.isGenerator();
    default: return true;
  }
}

// Before a backend is chosen, so that the message is about the argument and not about a missing kernel.
void checkArguments(const OperatorHandle& op, const FunctionSchema& schema, Stack& stack) {
  const auto& args = schema.arguments();
  for (size_t i = 0; i < args.size(); ++i) {
    const IValue& v = peek(stack, i, args.size());
    SHUNT_CHECK(holds(v, args[i].type), "operator ", op.operator_name(), ": boxed argument '", args[i].name, "' (position ", i + 1,
                "): expected ", args[i].type, ", got ", v.tagName());
  }
}

// A sized list takes one value and repeats it; a bare int is a one-element list elsewhere.
void normalizeArguments(const FunctionSchema& schema, Stack& stack) {
  const auto& args = schema.arguments();
  const size_t n = args.size();
  for (size_t i = 0; i < n; ++i) {
    const Type& type = args[i].type;
    IValue& v = peek(stack, i, n);
    if (!type.list || v.isNone()) continue;
    const auto repeat = static_cast<size_t>(type.fixed_size.value_or(1));
    if (type.kind == TypeKind::Int && v.isInt()) v = IValue(std::vector<int64_t>(repeat, v.toInt()));
    else if (type.kind == TypeKind::Float && v.isDouble()) v = IValue(std::vector<double>(repeat, v.toDouble()));
  }
}

uint64_t keysOf(const IValue& v) {
  switch (v.tag()) {
    case IValue::Tag::Tensor: return detail::keysOf(v.toTensor());
    case IValue::Tag::TensorList: return detail::keysOf(TensorList(v.toTensorVector()));
    case IValue::Tag::OptionalTensorList: return detail::keysOf(TensorOptList(v.toOptionalTensorVector()));
    case IValue::Tag::Generator: return detail::keysOf(v.toGenerator());
    default: return 0;
  }
}

size_t prepareStack(const OperatorHandle& op, Stack& stack) {
  const FunctionSchema& schema = op.schema();
  const size_t n = schema.arguments().size();
  SHUNT_CHECK(stack.size() >= n, "operator ", op.operator_name(), ": a boxed call needs ", n, " arguments on the stack, got ", stack.size());
  normalizeArguments(schema, stack);
  checkArguments(op, schema, stack);
  return n;
}

void runBoxed(const OperatorHandle& op, const TableEntry& entry, DispatchKeySet ks, Stack* stack) {
  entry.boxed(entry.functor, op, ks, stack);
}

}  // namespace

bool OperatorHandle::hasSchema() const { return op_->entry() != nullptr && op_->entry()->schema() != nullptr; }

const FunctionSchema& OperatorHandle::schema() const {
  SHUNT_CHECK(hasSchema(), "operator ", operator_name(), " has no definition: there are kernels for it (impl), but no def with its schema");
  return op_->entry()->schema()->schema;
}

void OperatorHandle::callBoxed(Stack* stack) const {
  const size_t n = prepareStack(*this, *stack);
  uint64_t keys = 0;
  for (size_t i = 0; i < n; ++i) keys |= keysOf(peek(*stack, i, n));
  detail::CallFrame frame(*op_);
  const OpState& s = frame.state(*op_);
  const DispatchKeySet ks = detail::effectiveKeys(s, keys);
  if (detail::trace_enabled.load(std::memory_order_relaxed)) [[unlikely]] detail::traceStep("call (boxed)", s, ks);
  runBoxed(*this, s.lookup(ks), ks, stack);
}

void OperatorHandle::redispatchBoxed(DispatchKeySet ks, Stack* stack) const {
  prepareStack(*this, *stack);
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
    checkSignatureAgainstSchema(schema->schema, placeOf(schema->where), signature, "typed<>()");
  }
}

bool OperatorHandle::hasKernelForDispatchKey(DispatchKey key) const {
  if (op_->entry() == nullptr) return false;
  MutexLock lock(Dispatcher::singleton().implForHandles().mutex);
  return op_->entry()->kernels().find(key) != nullptr;
}

}  // namespace shunt
