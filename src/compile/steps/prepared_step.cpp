#include "src/compile/steps/prepared_step.h"

#include "src/compile/guards/keys_that_matter.h"
#include "src/compile/guards/own_calls.h"
#include "src/compile/steps/quick_counts.h"
#include "src/compile/steps/view_step.h"

#include <shunt/core/tls.h>

#include <algorithm>

namespace shunt::compiled {
namespace {

/// N results.
template <size_t N>
bool runPrepared(const Step& step, Frame& frame) {
  // A new tensor has other keys in inference mode.
  if ((detail::tls_state.mode & detail::kModeInference) != 0 || (step.in_buffers && !frame.hasBuffers())) return false;
  const PreparedStep& prepared = *step.prepared;
  Tensor made[N];
  std::byte* to[N];
  for (size_t i = 0; i < N; ++i) {
    if (step.buffers[i] >= 0) {
      to[i] = frame.buffer(static_cast<uint32_t>(step.buffers[i]));
      continue;
    }
    made[i] = step.into[i] >= 0 ? frame.given(step.into[i]) : prepared.newResult(i);
    to[i] = made[i].defined() ? made[i].unsafeGetTensorImpl()->data() : nullptr;
  }
  if (!prepared.run(frame, to)) return false;
  if (N == 1 && step.view >= 0) {
    ++quick_counts.views;
    frame.slot(static_cast<size_t>(step.view)) = std::move(made[0]);
    return true;
  }
  for (size_t i = 0; i < N; ++i) {
    const int slot = i == 0 ? step.result : step.results[i].slots[0];
    if (slot >= 0 && made[i].defined()) frame.slot(static_cast<size_t>(slot)) = std::move(made[i]);
  }
  return true;
}

Tensor shapeOf(const Graph::Spec& spec) {
  return Tensor(detail::makeTensor(spec.sizes, {}, spec.dtype, Device(kMeta)));
}

static_assert(PreparedStep::kMostResults == std::extent_v<decltype(Step::buffers)>);
constexpr QuickCall kRun[] = {&runPrepared<1>, &runPrepared<2>, &runPrepared<PreparedStep::kMostResults>};

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

PreparedStep::PreparedStep(const Graph::Spec& result) { shapes_[0] = shapeOf(result); }

PreparedStep::PreparedStep(const Graph::Node& node) {
  SHUNT_INTERNAL_ASSERT(node.outputs.size() <= kMostResults, "a prepared step has more results than there is room for");
  for (size_t i = 0; i < node.outputs.size(); ++i)
    if (const Graph::Value* v = node.outputs[i].values[0]) shapes_[i] = shapeOf(v->spec);
}

void prepare(Step& step, std::shared_ptr<const PreparedStep> prepared) {
  step.prepared = std::move(prepared);
  step.quick = kRun[step.results.size() - 1];
  for (const Operand& o : step.operands)
    if (o.last) step.dead.push_back(o.source.index);
}

}  // namespace shunt::compiled
