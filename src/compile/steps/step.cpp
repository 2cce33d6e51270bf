#include "src/compile/steps/step.h"

#include "src/compile/steps/grad_step.h"

#include "src/compile/passes/aliases.h"
#include "src/dispatch/awaited_call.h"
#include "src/dispatch/boxed_arguments.h"

#include <algorithm>
#include <optional>

namespace shunt::compiled {
namespace {

Tensor take(const Operand& o, Frame& frame) {
  if (o.kind == Operand::Kind::kUndefined) return Tensor();
  if (o.last) return std::move(frame.slot(o.source.index));
  return frame.at(o.source);
}

template <class Element>
IValue listOf(const Operand& o, Frame& frame) {
  std::vector<Element> list;
  list.reserve(o.list.size());
  for (const Operand& e : o.list) {
    if constexpr (std::is_same_v<Element, Tensor>)
      list.push_back(take(e, frame));
    else
      list.push_back(e.kind == Operand::Kind::kUndefined ? std::nullopt : Element(take(e, frame)));
  }
  return IValue(std::move(list));
}

void pushArguments(const Step& step, Frame& frame) {
  Stack& stack = frame.stack();
  stack.clear();
  for (const Operand& o : step.operands) {
    if (o.kind == Operand::Kind::kLiteral)
      stack.push_back(o.literal);
    else if (o.kind == Operand::Kind::kList)
      stack.push_back(listOf<Tensor>(o, frame));
    else if (o.kind == Operand::Kind::kOptionalList)
      stack.push_back(listOf<std::optional<Tensor>>(o, frame));
    else
      stack.push_back(IValue(take(o, frame)));
  }
}

void keepResults(const Step& step, Frame& frame) {
  Stack& stack = frame.stack();
  if (step.results.empty()) return stack.clear();
  SHUNT_CHECK(stack.size() == step.results.size(), "Graph: operator ", step.node->name(), " returned ", stack.size(),
              " values, and its node has ", step.results.size());
  for (size_t i = 0; i < step.results.size(); ++i) {
    const Step::Result& r = step.results[i];
    IValue& v = stack[i];
    if (!r.is_list) {
      if (r.slots[0] >= 0 && v.isTensor()) frame.slot(static_cast<size_t>(r.slots[0])) = std::move(v.toTensor());
      continue;
    }
    const std::vector<Tensor>& list = v.toTensorVector();
    SHUNT_CHECK(list.size() == r.slots.size(), "Graph: operator ", step.node->name(), " returned a list of ",
                list.size(), " tensors, and one of ", r.slots.size(),
                " was recorded; trace the function for these inputs");
    for (size_t j = 0; j < list.size(); ++j)
      if (r.slots[j] >= 0) frame.slot(static_cast<size_t>(r.slots[j])) = list[j];
  }
  stack.clear();
}

/// The arguments on the stack become the results.
void callBoxed(const Step& step, Stack& stack, trace_detail::ModesScope& modes, elementwise::RecordedLoop* recorded) {
  if (detail::awaited_call != nullptr || detail::trace_enabled.load(std::memory_order_relaxed)) [[unlikely]]
    return step.op.callBoxed(&stack);
  const uint64_t keys = boxed::prepare(step.op, stack);
  const Operator& op = step.op.op();
  const detail::CallFrame call(op);
  const OpState& state = call.state(op);
  const bool with_all = !step.passed_by.stands(state);
  if (with_all) [[unlikely]]
    modes.set(step.node->modes);
  const DispatchKeySet ks = detail::effectiveKeys(state, keys);
  const TableEntry& entry = state.lookup(ks);
  {
    std::optional<elementwise::RecordingOfLoop> recording;
    if (recorded != nullptr) recording.emplace(*recorded);
    entry.boxed(entry.functor, step.op, ks, &stack);
  }
  if (with_all) modes.set(*step.modes);
}

/// A kernel of the Autograd keys that only records; none, so that the operator's is called with these keys; or another.
enum class AutogradKernel : uint8_t { kRecords, kNone, kOther };

AutogradKernel autogradKernel(const TableEntry& entry, const TableEntry& below) {
  switch (entry.reason) {
    case EntryReason::kFallthrough:
    case EntryReason::kCompositeHandledBelow:
      return AutogradKernel::kNone;
    case EntryReason::kMissing:
      return AutogradKernel::kOther;
    case EntryReason::kCompositeImplicit: {
      const bool same = entry.boxed == below.boxed && entry.unboxed == below.unboxed && entry.functor == below.functor;
      return same ? AutogradKernel::kNone : AutogradKernel::kOther;
    }
    default:
      return isOfThisLibrary(entry) ? AutogradKernel::kRecords : AutogradKernel::kOther;
  }
}

const Graph::Value* anyTensor(const Graph::Node& node) {
  for (const Graph::Argument& a : node.arguments)
    for (const Graph::Value* v : a.values)
      if (v != nullptr) return v;
  return nullptr;
}

}  // namespace

SeenEntry autogradOf(const Graph::Node& node, bool inner_too) {
  const Graph::Value* like = anyTensor(node);
  if (like == nullptr || !isOfDictionary(node)) return {};
  const BackendComponent backend = backendOf(like->spec.device.type());
  const int slot = slotOf(autogradKeyOf(backend));
  const detail::CallFrame frame(node.op.op());
  const OpState& state = frame.state(node.op.op());
  const TableEntry& below = state.lookup(DispatchKeySet::of(Functionality::Dense) | DispatchKeySet::of(backend));
  const AutogradKernel kernel = autogradKernel(state.entry(slot), below);
  if (kernel == AutogradKernel::kOther || (kernel == AutogradKernel::kNone && !inner_too)) return {};
  return {slot, state.entry(slot).version};
}

bool onlyRecord(const std::vector<const Operator*>& operators) {
  const auto onlyRecords = [](const Operator* op) {
    const detail::CallFrame frame(*op);
    const OpState& state = frame.state(*op);
    for (int b = 0; b < kNumBackends; ++b) {
      const auto backend = static_cast<BackendComponent>(b);
      const DispatchKey autograd = autogradKeyOf(backend);
      if (autograd == DispatchKey::Undefined) continue;
      const TableEntry& entry = state.entry(slotOf(autograd));
      const TableEntry& below = state.lookup(DispatchKeySet::of(Functionality::Dense) | DispatchKeySet::of(backend));
      if (entry.reason != EntryReason::kMissing && autogradKernel(entry, below) == AutogradKernel::kOther) return false;
    }
    return true;
  };
  return std::ranges::all_of(operators, onlyRecords);
}

void fitLiteral(const OperatorHandle& op, size_t argument, IValue& literal) {
  const SchemaRecord& definition = definitionOf(op);
  if (!definition.argument_tags[argument].has(literal.tag())) boxed::mend(definition, literal, argument);
}

void callStep(const Step& step, Frame& frame, trace_detail::ModesScope& modes, elementwise::RecordedLoop* recorded) {
  if (step.adds_view) [[unlikely]]
    layOutAsLeaf(step, frame);
  if (recorded == nullptr && step.direct != nullptr && detail::awaited_call == nullptr && !frame.hasOtherKernels())
      [[likely]] {
    const detail::CallFrame call(step.op.op());
    const OpState& state = call.state(step.op.op());
    if (step.passed_by.stands(state) && step.direct(step, frame, state)) [[likely]]
      return;
  }
  pushArguments(step, frame);
  if (step.expected != nullptr || frame.hasOtherKernels()) {
    const ComparedCall compared(*step.node, step.expected, frame.stack());
    callBoxed(step, frame.stack(), modes, recorded);
    compared.compare(frame.stack(), step.may_run_again);
  } else {
    callBoxed(step, frame.stack(), modes, recorded);
  }
  keepResults(step, frame);
}

}  // namespace shunt::compiled
