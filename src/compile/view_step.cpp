#include "src/compile/view_step.h"

#include "src/compile/recordings.h"
#include "src/compile/step.h"

#include <shunt/core/tls.h>

#include <algorithm>
#include <string_view>

namespace shunt::compiled {
namespace {

constexpr DispatchKeySet kPlainCpu =
    DispatchKeySet::of(Functionality::Dense) | DispatchKeySet::of(BackendComponent::CPU);
constexpr DispatchKeySet kViewKey = DispatchKeySet::of(Functionality::ADInplaceOrView);

// What they show begins where their argument does, and depends on its sizes and strides only.
constexpr std::string_view kViews[] = {"aten::alias", "aten::expand",    "aten::permute",   "aten::squeeze",
                                       "aten::t",     "aten::transpose", "aten::unsqueeze", "aten::view"};

bool reads(const Graph::Node& user, const Graph::Value* v) {
  const auto& wanted = user.op.schema().arguments();
  for (size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i].is_write() && std::ranges::find(user.arguments[i].values, v) != user.arguments[i].values.end())
      return false;
  return isOfDictionary(user) && !drawsRandomNumbers(user.op);
}

/// Whether no one writes through the tensor or keeps it, nor a tensor that shares its memory by way of it.
bool staysInside(const Graph& graph, const Graph::Value* v) {
  if (graph.isOutput(v)) return false;
  return std::ranges::all_of(graph.users(v), [&](const Graph::Node* user) {
    if (!reads(*user, v)) return false;
    if (!mayAlias(*user)) return true;
    return std::ranges::all_of(user->outputs, [&](const Graph::Output& o) {
      return std::ranges::all_of(o.values,
                                 [&](const Graph::Value* made) { return made == nullptr || staysInside(graph, made); });
    });
  });
}

bool shows(const TensorImpl& t, const Graph::Spec& spec) {
  return t.dtype() == spec.dtype && t.sizes().equals(spec.sizes) && t.strides().equals(spec.strides);
}

/// As the operator makes it; what Autograd and ADInplaceOrView would note of its base is for those who see the view.
bool makeView(const Step& step, Frame& frame, const OpState& state) {
  const Operand& from = step.operands[0];
  const Tensor& base = frame.at(from.source);
  if (!base.defined()) return false;
  const TensorImpl& impl = *base.unsafeGetTensorImpl();
  if (impl.is_inference() || keysThatMatter(base) != kPlainCpu.raw()) return false;
  if (detail::effectiveKeys(state, detail::keysOf(base)).highestSlot() != step.kernel.slot ||
      !step.kernel.stands(state) || !step.below.stands(state) || detail::trace_enabled.load(std::memory_order_relaxed))
    return false;
  const Graph::Node& node = *step.node;
  if (!shows(impl, node.arguments[0].values[0]->spec)) return false;
  const Graph::Spec& shown = node.outputs[0].values[0]->spec;
  auto view = make_intrusive<TensorImpl>(impl.storage(), impl.key_set() - kAutogradKeys, impl.dtype());
  view->set_sizes_and_strides(shown.sizes, shown.strides, impl.storage_offset());
  view->share_version_counter_of(impl);
  const Tensor made(std::move(view));
  if (from.last) frame.slot(from.source.index).reset();
  frame.slot(static_cast<size_t>(step.results[0].slots[0])) = made;
  return true;
}

bool isPlainView(const Graph::Node& node) {
  if (std::ranges::find(kViews, node.op.op().name()) == std::end(kViews)) return false;
  const Graph::Value *base = node.arguments[0].value(), *made = node.result();
  if (base == nullptr || made == nullptr || node.modes.inference) return false;
  return base->spec.dtype == made->spec.dtype && base->spec.offset == made->spec.offset && base->spec.device == kCPU &&
         made->spec.device == kCPU;
}

}  // namespace

void makeViewDirectly(const Graph& graph, Step& step) {
  const Graph::Node& node = *step.node;
  if (step.passed_by.slot < 0 || !isPlainView(node) || step.results[0].slots[0] < 0 ||
      step.operands[0].kind != Operand::Kind::kTensor || !staysInside(graph, node.result()))
    return;
  const detail::CallFrame frame(step.op.op());
  const OpState& state = frame.state(step.op.op());
  const TableEntry &view = state.entry(kViewKey.highestSlot()), &below = state.lookup(kPlainCpu);
  if (view.reason != EntryReason::kKernel || below.reason != EntryReason::kCompositeExplicit ||
      !isOfThisLibrary(view) || !isOfThisLibrary(below))
    return;
  step.kernel = {kViewKey.highestSlot(), view.version};
  step.below = {kPlainCpu.highestSlot(), below.version};
  step.direct = &makeView;
}

}  // namespace shunt::compiled
