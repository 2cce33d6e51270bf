#include "src/compile/program/recorder.h"

#include "src/compile/guards/own_calls.h"
#include "src/compile/passes/casts.h"
#include "src/compile/regions/cast_node.h"
#include "src/compile/regions/loop_builder.h"

#include <algorithm>
#include <cstring>

namespace shunt::compiled {
namespace {

bool writesVersions(const Graph::Modes& modes) {
  return (modes.excluded & DispatchKeySet::of(Functionality::ADInplaceOrView).raw()) == 0;
}

bool mayBePointwise(const Step& step) {
  const Graph::Node& node = *step.node;
  if (step.passed_by.slot < 0 || node.modes.inference || !isOfDictionary(node)) return false;
  if (mayAutocast(node) && !autocastPassesBy(node.op.op())) return false;
  if (writtenInPlace(node) != nullptr) return !drawsRandomNumbers(node.op) && writesVersions(node.modes);
  return !mayAlias(node) && node.outputs.size() == 1 && !node.outputs[0].is_list && step.results[0].slots[0] >= 0;
}

std::vector<RecordedArgument> argumentsOf(const Step& step, const Frame& frame, const Aliases& aliases) {
  std::vector<RecordedArgument> out;
  for (size_t i = 0; i < step.operands.size(); ++i)
    if (step.operands[i].kind == Operand::Kind::kTensor)
      out.push_back({aliases.tensorOf(step.node->arguments[i].values[0]), frame.at(step.operands[i].source)});
  return out;
}

/// The elements that an in-place operator is about to write, where these can be copied as they lie.
Tensor copyOf(const Tensor& t) {
  if (!t.device().is_cpu() || !t.is_contiguous() || t.numel() == 0) return Tensor();
  Tensor out(detail::makeCpuTensor(t.sizes(), {}, t.dtype()));
  std::memcpy(out.unsafeGetTensorImpl()->data(), t.unsafeGetTensorImpl()->data(), static_cast<size_t>(t.nbytes()));
  return out;
}

/// Whether the loop alone gives the operator's bits, here where both are at hand. `before`: what was written in place.
bool givesSameBits(const PointwiseNode& p, std::span<const RecordedArgument> arguments, const Tensor& result,
                   const Tensor& before) {
  BlockLoop loop;
  const LoopBuilder::Nodes nodes{&p};
  LoopBuilder builder(nodes, loop);
  std::vector<std::byte*> addresses;
  for (const PointwiseNode::Input& in : p.inputs) {
    if (in.value == nullptr || builder.hasOperand(in.value, in.fit)) continue;
    const auto given = std::ranges::find_if(arguments, [&](const auto& a) { return a.value == in.value; });
    builder.addOperand(in.value, in.fit, given->tensor.dtype());
    const Tensor& t = p.written && in.value == p.result ? before : given->tensor;
    addresses.push_back(t.unsafeGetTensorImpl()->data());
  }
  const Tensor again = p.written ? before : Tensor(detail::makeCpuTensor(result.sizes(), {}, result.dtype()));
  if (!builder.hasOperand(p.result, Fit::kFull)) {
    builder.addOperand(p.result, Fit::kFull, result.dtype());
    addresses.push_back(again.unsafeGetTensorImpl()->data());
  }
  builder.finish();
  loop.run(addresses.data());
  return std::memcmp(again.unsafeGetTensorImpl()->data(), result.unsafeGetTensorImpl()->data(),
                     static_cast<size_t>(result.nbytes())) == 0;
}

/// Whether another argument lies in the memory that was written.
bool anySharesMemory(const PointwiseNode& p, std::span<const RecordedArgument> arguments) {
  return std::ranges::any_of(arguments.subspan(1), [&](const RecordedArgument& a) {
    return a.value != p.result && a.tensor.defined() &&
           a.tensor.unsafeGetTensorImpl()->storage() == arguments[0].tensor.unsafeGetTensorImpl()->storage();
  });
}

}  // namespace

void Recorder::operator()(const Step& step, Frame& frame, trace_detail::ModesScope& modes) {
  if (!mayBePointwise(step)) return callStep(step, frame, modes);
  if (rowOperatorBelow(*step.node) != nullptr) return callRows(step, frame, modes);
  if (isCast(*step.node)) return callCast(step, frame, modes);
  const std::vector<RecordedArgument> arguments = argumentsOf(step, frame, aliases_);
  const Graph::Value* written = writtenInPlace(*step.node);
  Tensor before;
  withoutMemoryToo([&] {
    if (written != nullptr) before = copyOf(arguments[0].tensor);
  });
  elementwise::RecordedLoop loop;
  callStep(step, frame, modes, &loop);
  if (written != nullptr && !before.defined()) return;
  const Tensor& result =
      written != nullptr ? arguments[0].tensor : frame.slot(static_cast<size_t>(step.results[0].slots[0]));
  withoutMemoryToo([&] {
    std::optional<PointwiseNode> p =
        describe(*step.node, loop, arguments, result, written != nullptr ? aliases_.tensorOf(written) : nullptr);
    if (!p || (p->written && anySharesMemory(*p, arguments))) return;
    if (givesSameBits(*p, arguments, result, before)) found.push_back(std::move(*p));
  });
}

void Recorder::callRows(const Step& step, Frame& frame, trace_detail::ModesScope& modes) {
  const std::vector<RecordedArgument> arguments = argumentsOf(step, frame, aliases_);  // which the call may move
  callStep(step, frame, modes);
  const Tensor& result = frame.slot(static_cast<size_t>(step.results[0].slots[0]));
  withoutMemoryToo([&] {
    if (std::optional<RowNode> p = describeRows(step, arguments, result)) rows.push_back(std::move(*p));
  });
}

void Recorder::callCast(const Step& step, Frame& frame, trace_detail::ModesScope& modes) {
  const std::vector<RecordedArgument> arguments = argumentsOf(step, frame, aliases_);
  callStep(step, frame, modes);
  const Tensor& result = frame.slot(static_cast<size_t>(step.results[0].slots[0]));
  withoutMemoryToo([&] {
    std::optional<PointwiseNode> p = describeCast(*step.node, arguments, result);
    if (p && givesSameBits(*p, arguments, result, Tensor())) found.push_back(std::move(*p));
  });
}

}  // namespace shunt::compiled
