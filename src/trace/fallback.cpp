// What the key Tracer does with an operator: see Note [Tracing] (shunt/trace/trace.h).
#include <shunt/core/library.h>
#include <shunt/core/stack_tensors.h>

#include "src/autograd/graph_task.h"
#include "src/base/immortal.h"
#include "src/dispatch/changes.h"
#include "src/dispatch/dispatcher_impl.h"
#include "src/dispatch/state_in_use.h"
#include "src/tensor/no_numbers.h"
#include "src/trace/call_site.h"
#include "src/trace/traced_tensor.h"
#include "src/trace/witness.h"

#include <algorithm>

namespace shunt::trace_detail {

bool inBackward() { return autograd::runningNode() != nullptr; }

namespace {

/// Their results' sizes depend on elements, which a graph doesn't have when it is recorded.
constexpr std::string_view kSizesFromElements[] = {"aten::nonzero", "aten::masked_select", "aten::unique",
                                                   "aten::unique2", "aten::_unique2",      "aten::argwhere",
                                                   "aten::bincount"};

/// The message for an operator that needs numbers. `in_compile`: compile() records, not trace().
std::string whyNumbers(const OperatorHandle& op, const char* what, bool in_compile) {
  const bool is_item = op.op().name() == "aten::_local_scalar_dense";
  return detail::str(is_item ? "item(), operator " : "operator ", op.operator_name(), ": ", what, ", and ",
                     in_compile ? "compile()" : "trace()",
                     " records operators, not numbers. Compute with tensors of fixed sizes instead (where(), "
                     "masked_fill(), clamp()), or call ",
                     is_item ? "item()" : "the operator", " outside of the ", in_compile ? "compiled" : "traced",
                     " function", callSite());
}

DispatchKeySet keysBelow(const std::vector<Operand>& operands) {
  uint64_t keys = 0;
  for (const Operand& o : operands) keys |= o.inner.key_set().raw();
  const detail::LocalState& tls = detail::tls_state;
  const auto effective = DispatchKeySet::fromRaw((keys | tls.included) & ~tls.excluded);
  return effective & kBelowTracer;
}

bool requiresGrad(const std::vector<Operand>& operands) {
  const bool recorded = !tls_excluded().hasAny(DispatchKeySet::of(Functionality::AutogradFunctionality));
  return recorded &&
         std::any_of(operands.begin(), operands.end(), [](const Operand& o) { return o.inner.requires_grad(); });
}

}  // namespace
}  // namespace shunt::trace_detail

namespace shunt::detail {

using namespace trace_detail;

namespace {

Graph::Argument argumentOf(const IValue& v, const std::vector<Operand>& operands) {
  const auto valueOf = [&](const Tensor& t) {
    return std::find_if(operands.begin(), operands.end(), [&](const Operand& o) { return o.given.is_same(t); })->value;
  };
  if (v.isTensor() && v.toTensor().defined()) return Graph::Argument(valueOf(v.toTensor()));
  std::vector<Graph::Value*> list;
  if (v.isTensorList()) {
    for (const Tensor& t : v.toTensorVector()) list.push_back(t.defined() ? valueOf(t) : nullptr);
    return Graph::Argument(std::move(list));
  }
  if (v.isOptionalTensorList()) {
    for (const auto& t : v.toOptionalTensorVector()) list.push_back(t && t->defined() ? valueOf(*t) : nullptr);
    return Graph::Argument(std::move(list));
  }
  return Graph::Argument(v);
}

}  // namespace

std::vector<Operand> Recording::operandsOf(const Stack& stack, size_t n) {
  std::vector<Operand> operands;
  forEachTensor(stack, n, [&](const Tensor& t) {
    const bool known =
        std::any_of(operands.begin(), operands.end(), [&](const Operand& o) { return o.given.is_same(t); });
    if (!known) operands.push_back(resolve(t));
  });
  return operands;
}

void Recording::checkReturns(const OperatorHandle& op) const {
  for (const Argument& r : op.schema().returns())
    if (r.type.kind != TypeKind::Tensor) throw Error(whyNumbers(op, "it returns a number", refuses_elements));
  const OperatorName name = op.operator_name();
  // where(condition) has its name from operators whose results have the operands' sizes.
  const bool is_places = name.name == "aten::where" && name.overload_name.empty();
  if (is_places || std::ranges::find(kSizesFromElements, name.name) != std::end(kSizesFromElements))
    throw Error(whyNumbers(op, "the sizes of its result depend on elements", refuses_elements));
}

Tensor Recording::finishTensor(Graph::Value* value, const Tensor& result, const std::vector<Operand>& operands,
                               bool plain) {
  for (const Operand& o : operands) {
    if (!o.inner.is_same(result)) continue;
    know(result, value);
    if (!o.given.is_same(o.inner) && o.wrapper == nullptr) know(o.given, value, o.inner);
    if (o.wrapper != nullptr) o.wrapper->setValue(value);
    return o.given;
  }
  know(result, value);
  return plain ? result : wrap(result, value);
}

IValue Recording::finishReturn(Graph::Node* node, const IValue& result, const std::vector<Operand>& operands,
                               bool plain) {
  Graph::Output& output = node->outputs.emplace_back();
  output.is_list = result.isTensorList() || result.isOptionalTensorList();
  if (!output.is_list && (!result.isTensor() || !result.toTensor().defined())) {
    output.values.push_back(nullptr);
    return result;
  }
  return mapTensors(result, [&](const Tensor& t) {
    Graph::Value* value = graph.addResult(node, specOf(t));
    node->outputs.back().values.push_back(value);
    return finishTensor(value, t, operands, plain);
  });
}

void Recording::see(const Operator& op) {
  if (!seen_.contains(&op)) seen_.emplace(&op, fingerprintOf(op));
}

// Note [What autograd saves]
// The Autograd kernel of an in-place operator whose gradient needs what it overwrites saves a clone of that, which a
// recorded backward reads: so this clone is a node, before the operator's. All else that Autograd kernels save are
// arguments, results, and aliases of these, which Recording::derived knows by their memory.
void Recording::runBelow(const OperatorHandle& op, const std::vector<Operand>& operands, Stack* stack) {
  struct Scope {
    Scope(Recording& r, Inside inside) : recording(r), saved(std::exchange(r.inside_, inside)) {
      setActiveTrace(nullptr);
    }
    ~Scope() {
      recording.inside_ = saved;
      setActiveTrace(&recording);
    }
    Recording& recording;
    const Inside saved;
  } const scope(*this,
                op.schema().is_mutable() && requiresGrad(operands) ? Inside::kSavingOperator : Inside::kOperator);
  try {
    op.callBoxed(stack);             // comes to callInside(), unless a key above takes it
  } catch (const NoNumbersError&) {  // of a fake tensor: index() with a boolean mask
    if (!fake_) throw;
    const bool by_mask = op.op().name() == "aten::index";
    throw NoNumbersError(whyNumbers(op,
                                    by_mask ? "a boolean mask makes the sizes of its result depend on elements"
                                            : "what it does depends on elements",
                                    refuses_elements));
  }
}

void Recording::callInside(const OperatorHandle& op, DispatchKeySet keys, Stack* stack) {
  const bool in_autograd = !tls_excluded().hasAny(DispatchKeySet::of(Functionality::AutogradFunctionality));
  if (inside_ != Inside::kSavingOperator || !in_autograd || op.operator_name().name != "aten::clone") {
    see(op.op());
    return op.redispatchBoxed(keys & kBelowTracer, stack);
  }
  struct Recorded {
    explicit Recorded(Recording& r) : recording(r) { set(Inside::kNo); }
    ~Recorded() { set(Inside::kSavingOperator); }
    void set(Inside inside) {
      recording.inside_ = inside;
      recording.force_plain_ = inside == Inside::kNo;
      setActiveTrace(inside == Inside::kNo ? &recording : nullptr);
    }
    Recording& recording;
  } recorded(*this);
  saved_clones_ = true;
  call(op, {}, stack);
}

void Recording::call(const OperatorHandle& op, DispatchKeySet, Stack* stack) {
  syncGrads();
  see(op.op());
  other_dtype_ |= get_default_dtype() != default_dtype_;
  const FunctionSchema& schema = op.schema();
  const size_t n = schema.arguments().size();
  const std::vector<Operand> operands = operandsOf(*stack, n);
  const DispatchKeySet below = forComposites(keysBelow(operands));
  const bool composite = goesToComposite(*StateInUse(op.op()), below - kAutocastKeys);
  // Autograd saves what a composite has made along the way, which has to be in the graph.
  const auto apart = [&] {
    return takes_apart ? takes_apart(op) : requiresGrad(operands) || (takes_apart_too && takes_apart_too(op));
  };
  if (composite && apart()) return op.redispatchBoxed(below, stack);
  checkReturns(op);
  Graph::Node recorded(op);
  recorded.modes = Graph::Modes::now();
  for (size_t i = 0; i < n; ++i) recorded.arguments.push_back(argumentOf(peek(*stack, i, n), operands));
  bool plain = inBackward() || force_plain_;
  for (const Operand& o : operands) plain |= o.wrapper == nullptr && o.value->kind == Graph::Value::Kind::kResult;
  for (const Operand& o : operands) plain &= o.wrapper == nullptr;
  mapTensors(*stack, n, [&](const Tensor& t) {
    return std::find_if(operands.begin(), operands.end(), [&](const Operand& o) { return o.given.is_same(t); })->inner;
  });
  runBelow(op, operands, stack);
  Graph::Node* node = graph.append(std::move(recorded));
  const size_t returns = schema.returns().size();
  for (size_t i = 0; i < returns; ++i) {
    IValue& result = peek(*stack, i, returns);
    result = finishReturn(node, result, operands, plain);
  }
  if (schema.is_mutable())
    for (const Operand& o : operands) {
      if (o.wrapper == nullptr) continue;
      o.wrapper->follow();
      o.wrapper->version().bump();  // for autocast's cache, which may hold a cast of it
    }
  if (op.op().name().starts_with("trace::")) noteGrads();
}

}  // namespace shunt::detail

namespace shunt::trace_detail {
namespace {

void fallback(const OperatorHandle& op, DispatchKeySet keys, Stack* stack) {
  detail::Recording* recording = detail::currentRecording();
  if (recording != nullptr && recording->isOpen())
    return recording->isInside() ? recording->callInside(op, keys, stack) : recording->call(op, keys, stack);
  if (Witness* witness = Witness::current()) return witness->call(op, keys, stack);
  const auto& arguments = op.schema().arguments();
  for (size_t i = 0; i < arguments.size(); ++i)
    forEachTensor(peek(*stack, i, arguments.size()), [&](const Tensor& t) {
      SHUNT_CHECK(tracedOf(t) == nullptr, "operator ", op.operator_name(), ": argument '", arguments[i].name,
                  "' is a traced tensor of shape ", t.sizes(),
                  " whose trace() is over, or runs on another thread: it is "
                  "dead. Return it from the traced function, and take it from the results of Graph::run(); a function "
                  "that compile() has recorded has put it into a variable that outlives the call");
    });
  throw Error(detail::str("operator ", op.operator_name(),
                          ": called with the key Tracer, but no trace() runs on this thread; call it in the function "
                          "given to trace(), or register a kernel of the operator for Tracer"));
}

// Any tensor's item() comes here while the key is included.
void element(const OperatorHandle& op, DispatchKeySet keys, Stack* stack) {
  if (detail::currentRecording() != nullptr || tracedOf(stack->back().toTensor()) != nullptr)
    return fallback(op, keys, stack);
  op.redispatchBoxed(keys & kBelowTracer, stack);
}

struct Registrar {
  Registrar()
      : every(Library::Kind::kImpl, "_", DispatchKey::Tracer), aten(Library::Kind::kImpl, "aten", DispatchKey::Tracer) {
    every.fallback(CppFunction::makeFromBoxedFunction<&fallback>());
    aten.impl("_local_scalar_dense", CppFunction::makeFromBoxedFunction<&element>());
    // A program's tracer of its own, a fallback for the same key, takes its place.
    auto& impl = Dispatcher::singleton().implForHandles();
    MutexLock lock(impl.mutex);
    impl.fallbacks.markDefault(DispatchKey::Tracer);
  }
  Library every, aten;
};
[[maybe_unused]] const Registrar& registrar = immortal<Registrar>();

}  // namespace
}  // namespace shunt::trace_detail
