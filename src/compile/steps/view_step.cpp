#include "src/compile/steps/view_step.h"

#include "src/autograd/unshared.h"
#include "src/compile/guards/keys_that_matter.h"
#include "src/compile/guards/own_calls.h"
#include "src/compile/passes/casts.h"
#include "src/compile/passes/host_node.h"
#include "src/compile/steps/prepared_step.h"
#include "src/compile/steps/quick_counts.h"
#include "src/compile/steps/step.h"
#include "src/trace/writes.h"

#include <shunt/core/tls.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <string_view>

namespace shunt::compiled {
namespace {

constexpr DispatchKeySet kViewKey = DispatchKeySet::of(Functionality::ADInplaceOrView);

// What they show begins where their argument does, and depends on its sizes and strides only.
constexpr std::string_view kViews[] = {
    "aten::alias",     "aten::expand",    "aten::permute", "aten::squeeze",        "aten::t",
    "aten::transpose", "aten::unsqueeze", "aten::view",    "aten::_reshape_alias", "aten::_unsafe_view"};

bool reads(const Graph::Node& user, const Graph::Value* v) {
  for (size_t i = 0; i < user.arguments.size(); ++i)
    if (trace_detail::writes(user, i) &&
        std::ranges::find(user.arguments[i].values, v) != user.arguments[i].values.end())
      return false;
  return isHostStep(user) || (isOfDictionary(user) && !drawsRandomNumbers(user.op) && !asksAutograd(user.op.op()));
}

/// Whether no one writes through the tensor or keeps it, nor a tensor that shares its memory by way of it.
bool staysInside(const trace_detail::Uses& uses, const Graph::Value* v) {
  if (uses.isOutput(v)) return false;
  return std::ranges::all_of(uses.of(v), [&](const Graph::Node* user) {
    if (!reads(*user, v)) return false;
    if (!mayAlias(*user) || writtenInPlace(*user) != nullptr) return true;  // what it writes is another tensor
    return std::ranges::all_of(user->outputs, [&](const Graph::Output& o) {
      return std::ranges::all_of(o.values,
                                 [&](const Graph::Value* made) { return made == nullptr || staysInside(uses, made); });
    });
  });
}

/// As the operator makes it; what Autograd and ADInplaceOrView would note of its base is for those who see the view.
bool show(const Step& step, Frame& frame) {
  const Tensor& base = frame.at(step.from);
  if (!base.defined()) return false;
  const TensorImpl& impl = *base.unsafeGetTensorImpl();
  const Graph::Node& node = *step.node;
  if (impl.is_inference() || !hasPlainKeys(base) || !shows(impl, *step.from_spec)) return false;
  const Graph::Spec& shown = node.outputs[0].values[0]->spec;
  auto view = make_intrusive<TensorImpl>(impl.storage(), impl.key_set() - kAutogradKeys, impl.dtype());
  view->set_sizes_and_strides(shown.sizes, shown.strides, impl.storage_offset());
  view->share_version_counter_of(impl);
  const Tensor made(std::move(view));
  if (step.operands[0].last) frame.slot(step.from.index).reset();
  frame.slot(static_cast<size_t>(step.result)) = made;
  return true;
}

bool makeView(const Step& step, Frame& frame, const OpState& state) {
  return frame.isUnchanged() &&  // else a reader may have got a kernel that wants more of a view
         detail::effectiveKeys(state, detail::keysOf(frame.at(step.from))).highestSlot() == step.kernel.slot &&
         step.kernel.stands(state) && step.below.stands(state) &&
         !detail::trace_enabled.load(std::memory_order_relaxed) && show(step, frame);
}

bool isInferenceMode() { return (detail::tls_state.mode & detail::kModeInference) != 0; }

bool counted(bool is_done) {
  quick_counts.views += is_done ? 1 : 0;
  return is_done;
}

bool makeViewQuickly(const Step& step, Frame& frame) { return counted(!isInferenceMode() && show(step, frame)); }

bool makeNothing(const Step&, Frame&) { return counted(true); }

bool makeNothingYet(const Step& step, Frame& frame) { return counted(liesAs(frame.at(step.from), *step.from_spec)); }

/// The argument ends here. Where nobody else has it or its memory, its tensor becomes the view: as a grad, that forgets
/// what it was a view of anyway.
bool becomeView(const Step& step, Frame& frame) {
  Tensor& base = frame.slot(step.from.index);
  const Graph::Node& node = *step.node;
  const Graph::Spec& shown = node.outputs[0].values[0]->spec;
  if (isInferenceMode() || !liesAs(base, *step.from_spec) || !autograd::isUnshared(base)) return false;
  TensorImpl& impl = *base.unsafeGetTensorImpl();
  if (impl.autograd_meta() != nullptr || impl.is_inference() || impl.is_wrapped_number() ||
      impl.storage()->nbytes() != static_cast<size_t>(impl.numel() * impl.itemsize()))
    return false;
  impl.set_sizes_and_strides(shown.sizes, shown.strides, impl.storage_offset());
  Tensor made = std::move(base);
  frame.slot(static_cast<size_t>(step.result)) = std::move(made);
  return counted(true);
}

bool becomeDetached(const Step& step, Frame& frame) { return becomeView(step, frame) || makeViewQuickly(step, frame); }

/// Whether those who don't only read the view's elements keep it as a grad, and then with these strides.
bool endsAsGrad(const trace_detail::Uses& uses, const Graph::Node& view) {
  const Graph::Value* v = view.result();
  if (uses.isOutput(v) || numelOf(v->spec) != numelOf(view.arguments[0].values[0]->spec)) return false;
  return std::ranges::all_of(uses.of(v), [&](const Graph::Node* user) {
    if (!user->is("trace::accumulate_grad_")) return reads(*user, v) && !mayAlias(*user);
    const Graph::Value* leaf = user->arguments[0].value();
    return leaf != nullptr && leaf != v && leaf->spec.sizes == v->spec.sizes && leaf->spec.strides == v->spec.strides;
  });
}

bool showsItsArgument(const Graph::Node& node) {
  const Graph::Value *base = node.arguments[0].value(), *made = node.result();
  if (base == nullptr || made == nullptr || node.modes.inference) return false;
  return base->spec.dtype == made->spec.dtype && base->spec.offset == made->spec.offset && base->spec.device == kCPU &&
         made->spec.device == kCPU;
}

// Nothing is noted of its result, whoever sees it.
bool callsOwnDetach(const Graph::Node& node) {
  const detail::CallFrame frame(node.op.op());
  const OpState& state = frame.state(node.op.op());
  return callsOwnView(node) && &entryWith(state, DispatchKeySet(DispatchKey::AutogradCPU)) == &state.lookup(kPlainCpu);
}

}  // namespace

bool isPlainView(const Graph::Node& node) {
  return std::ranges::find(kViews, node.op.op().name()) != std::end(kViews) && showsItsArgument(node);
}

bool isDetach(const Graph::Node& node) { return node.op.op().name() == "aten::detach" && showsItsArgument(node); }

int64_t numelOf(const Graph::Spec& spec) {
  return std::accumulate(spec.sizes.begin(), spec.sizes.end(), int64_t{1}, std::multiplies<>());
}

bool isViewInside(const trace_detail::Uses& uses, const Graph::Node& node) {
  return isPlainView(node) && staysInside(uses, node.result());
}

bool callsOwnView(const Graph::Node& node) {
  const detail::CallFrame frame(node.op.op());
  const OpState& state = frame.state(node.op.op());
  const TableEntry &view = entryWith(state, kViewKey), &below = state.lookup(kPlainCpu);
  DispatchKeySet above(DispatchKey::BackendSelect);
  if (mayAutocast(node)) above = above.add(DispatchKey::AutocastCPU);
  // That of an operator whose result is noted as no view is passed by.
  const bool is_known = view.reason == EntryReason::kKernel || &view == &below;
  return is_known && below.reason == EntryReason::kCompositeExplicit && &entryWith(state, above) == &below &&
         isOfThisLibrary(view) && isOfThisLibrary(below) && hasOwnShapes(state);
}

void makeViewDirectly(const trace_detail::Uses& uses, Step& step) {
  const Graph::Node& node = *step.node;
  if (step.result < 0 || step.operands.empty() || step.operands[0].kind != Operand::Kind::kTensor) return;
  if (isDetach(node) && callsOwnDetach(node)) step.quick = step.operands[0].last ? &becomeDetached : &makeViewQuickly;
  if (step.passed_by.slot < 0 || !isPlainView(node)) return;
  const bool stays = staysInside(uses, node.result());
  const bool becomes = !stays && step.operands[0].last && endsAsGrad(uses, node);
  if ((!stays && !becomes) || !callsOwnView(node)) return;
  step.quick = becomes ? &becomeView : &makeViewQuickly;
  if (becomes) return;
  const detail::CallFrame frame(step.op.op());
  const OpState& state = frame.state(step.op.op());
  step.kernel = {kViewKey.highestSlot(), state.entry(kViewKey.highestSlot()).version};
  step.below = {kPlainCpu.highestSlot(), state.lookup(kPlainCpu).version};
  step.direct = &makeView;
}

void makeViewLate(Step& step, bool known) {
  if (step.direct == &makeView) step.quick = known ? &makeNothing : &makeNothingYet;
}

bool doesNothing(const Step& step) { return step.quick == &makeNothing; }

bool makeLateView(const Step& step, Frame& frame) { return step.direct == &makeView && show(step, frame); }

std::optional<PlanPart::Call> howViewed(const Step& step) {
  if (step.quick == &becomeView || step.quick == &becomeDetached) return PlanPart::Call::kArgument;
  if (step.quick == &makeViewQuickly) return PlanPart::Call::kDirect;
  if (step.direct == &makeView) return PlanPart::Call::kLate;
  return std::nullopt;
}

}  // namespace shunt::compiled
