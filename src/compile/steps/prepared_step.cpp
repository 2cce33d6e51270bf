#include "src/compile/steps/prepared_step.h"

#include "src/compile/guards/keys_that_matter.h"
#include "src/compile/guards/own_calls.h"
#include "src/compile/steps/quick_counts.h"
#include "src/compile/steps/view_step.h"

#include <shunt/core/tls.h>

#include <algorithm>

namespace shunt::compiled {
namespace {

/// A buffer's memory, or that of a new tensor.
std::byte* memoryFor(int64_t buffer, const PreparedStep& prepared, const Frame& frame, Tensor& made) {
  if (buffer >= 0) return frame.buffer(static_cast<uint32_t>(buffer));
  made = prepared.newResult();
  return made.unsafeGetTensorImpl()->data();
}

bool runPrepared(const Step& step, Frame& frame) {
  // A new tensor has other keys in inference mode.
  if ((detail::tls_state.mode & detail::kModeInference) != 0 || (step.in_buffers && !frame.hasBuffers())) return false;
  const PreparedStep& prepared = *step.prepared;
  Tensor out, second;
  std::byte* const to = memoryFor(step.buffer, prepared, frame, out);
  std::byte* const second_to = step.has_second ? memoryFor(step.second_buffer, prepared, frame, second) : nullptr;
  if (!prepared.run(frame, to, second_to)) return false;
  if (second.defined() && step.results[1].slots[0] >= 0)
    frame.slot(static_cast<size_t>(step.results[1].slots[0])) = std::move(second);
  if (step.view >= 0) ++quick_counts.views;
  if (out.defined()) frame.slot(static_cast<size_t>(step.view >= 0 ? step.view : step.result)) = std::move(out);
  return true;
}

}  // namespace

bool isRowMajor(const Graph::Spec& spec) {
  int64_t stride = 1;
  for (size_t d = spec.sizes.size(); d-- > 0; stride *= spec.sizes[d])
    if (spec.sizes[d] != 1 && spec.strides[d] != stride) return false;
  return true;
}

bool liesAsNew(const Graph::Spec& spec) {
  int64_t stride = 1;
  for (size_t d = spec.sizes.size(); d-- > 0; stride *= std::max<int64_t>(spec.sizes[d], 1))
    if (spec.strides[d] != stride) return false;
  return true;
}

bool callsOwnKernel(const Graph::Node& node) {
  const detail::CallFrame frame(node.op.op());
  const OpState& state = frame.state(node.op.op());
  const TableEntry& entry =
      entryWith(state, DispatchKeySet(DispatchKey::ADInplaceOrView).add(DispatchKey::BackendSelect));
  return &entry == &state.lookup(kPlainCpu) &&
         (entry.reason == EntryReason::kKernel || entry.reason == EntryReason::kCompositeExplicit) &&
         isOfThisLibrary(entry) && hasOwnShapes(state);
}

bool hasOwnShapes(const OpState& state) {
  constexpr DispatchKeySet kMetaKeys =
      DispatchKeySet::of(Functionality::Dense) | DispatchKeySet::of(BackendComponent::Meta);
  return isOfThisLibrary(state.lookup(kMetaKeys));
}

const std::byte* PreparedStep::elementsWhereLike(const Place& place, const Frame& frame) {
  const Tensor& t = frame.at(place.source);
  return liesAs(t, *place.spec) ? t.unsafeGetTensorImpl()->data() : nullptr;
}

PreparedStep::PreparedStep(const Graph::Spec& result)
    : result_(result), shape_(detail::makeTensor(result.sizes, {}, result.dtype, Device(kMeta))) {}

void prepare(Step& step, std::shared_ptr<const PreparedStep> prepared) {
  step.prepared = std::move(prepared);
  step.quick = &runPrepared;
  step.has_second = step.results.size() > 1;
  for (const Operand& o : step.operands)
    if (o.last) step.dead.push_back(o.source.index);
}

}  // namespace shunt::compiled
