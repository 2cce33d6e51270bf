#include "src/compile/steps/grad_step.h"

#include "src/autograd/accumulate.h"
#include "src/autograd/unshared.h"
#include "src/compile/guards/keys_that_matter.h"
#include "src/compile/steps/quick_counts.h"
#include "src/trace/operators.h"

#include <shunt/autograd/autograd_meta.h>

namespace shunt::compiled {
namespace {

uint64_t keysOf(const Operand& o, const Frame& frame) {
  return o.kind == Operand::Kind::kTensor ? detail::keysOf(frame.at(o.source)) : 0;
}

/// Whether the kernel that the plan has seen is the one that a call would run now.
bool isCalled(const Step& step, const Frame& frame, const OpState& state) {
  uint64_t keys = 0;
  for (const Operand& o : step.operands) keys |= keysOf(o, frame);
  return detail::effectiveKeys(state, keys).highestSlot() == step.kernel.slot && step.kernel.stands(state) &&
         !detail::trace_enabled.load(std::memory_order_relaxed);
}

Tensor take(const Operand& o, Frame& frame) {
  if (o.kind != Operand::Kind::kTensor) return Tensor();
  if (o.last) return std::move(frame.slot(o.source.index));
  return frame.at(o.source);
}

bool set(const Step& step, Frame& frame, const OpState& state) {
  if (!isCalled(step, frame, state)) return false;
  const Operand& self = step.operands[0];
  trace_detail::setGrad(frame.at(self.source), take(step.operands[1], frame));
  if (self.last) frame.slot(self.source.index).reset();
  return true;
}

bool accumulate(const Step& step, Frame& frame, const OpState& state) {
  if (!isCalled(step, frame, state)) return false;
  const Operand& self = step.operands[0];
  trace_detail::accumulateGrad(frame.at(self.source), take(step.operands[1], frame), isHeld(*step.node));
  if (self.last) frame.slot(self.source.index).reset();
  return true;
}

bool read(const Step& step, Frame& frame, const OpState& state) {
  if (!isCalled(step, frame, state)) return false;
  const Operand& self = step.operands[0];
  Tensor grad = frame.at(self.source).grad();
  if (self.last) frame.slot(self.source.index).reset();
  if (step.result >= 0) frame.slot(static_cast<size_t>(step.result)) = std::move(grad);
  return true;
}

bool isPlain(const Tensor& t) { return t.defined() && hasPlainKeys(t); }

bool forgetGrad(const Step& step, Frame& frame) {
  const Tensor& self = frame.at(step.from);
  autograd::AutogradMeta* meta = isPlain(self) ? autograd::get_autograd_meta(self) : nullptr;
  if (meta == nullptr) return false;
  meta->grad_ = Tensor();
  return true;
}

bool readGrad(const Step& step, Frame& frame) {
  const Tensor& self = frame.at(step.from);
  const autograd::AutogradMeta* meta = isPlain(self) ? autograd::get_autograd_meta(self) : nullptr;
  if (meta == nullptr || !meta->grad_.defined()) return false;  // of no leaf, it is worth a warning
  frame.slot(static_cast<size_t>(step.result)) = meta->grad_;
  ++quick_counts.grads;
  return true;
}

// Whether the gradient lies in memory as the copy would that eager code makes of it for the leaf.
bool liesAsCopy(const Tensor& grad, const Tensor& self) {
  return grad.strides().equals(self.strides()) && grad.storage_offset() == 0 &&
         grad.storage()->nbytes() == static_cast<size_t>(grad.numel() * grad.itemsize());
}

bool keepGradient(const Step& step, Frame& frame) {
  if (step.adds_view) [[unlikely]]
    layOutAsLeaf(step, frame);
  const Tensor& self = frame.at(step.from);
  Tensor& grad = frame.slot(step.operands[1].source.index);
  if (!isPlain(self) || !isPlain(grad) || (step.copies_dead && !liesAsCopy(grad, self))) return false;
  if (!autograd::keepAsGrad(self, grad)) return false;
  // A copy is a new tensor that was written once. A dead one that counts as such is as good.
  if (step.copies_dead) self.grad().unsafeGetTensorImpl()->version().set(1);
  return true;
}

bool readNothingYet(const Step&, Frame&) {
  ++quick_counts.grads;
  return true;
}

QuickCall quickCallOf(const Step& step, const OpState& state) {
  DispatchKeySet all = kPlainCpu;
  for (const DispatchKey key : kPassedByQuickCalls) all = all.add(key);
  const Operand& self = step.operands[0];
  if ((all & state.maskFor(all)).highestSlot() != step.kernel.slot || self.last) return nullptr;
  if (step.node->is("trace::grad")) return step.result >= 0 ? &readGrad : nullptr;
  const Operand& given = step.operands[1];
  if (step.node->is("trace::set_grad_")) return given.kind == Operand::Kind::kTensor ? nullptr : &forgetGrad;
  const bool keeps = step.node->is("trace::accumulate_grad_") && !step.node->modes.grad;
  if (!keeps || given.kind != Operand::Kind::kTensor || !(given.last || step.copies_dead)) return nullptr;
  SHUNT_INTERNAL_ASSERT(given.source.kind == Source::Kind::kSlot, "a gradient that ends here lies in no slot");
  return &keepGradient;
}

DirectCall callOf(const Graph::Node& node) {
  if (node.is("trace::set_grad_")) return &set;
  if (node.is("trace::accumulate_grad_")) return &accumulate;
  return node.is("trace::grad") ? &read : nullptr;
}

}  // namespace

bool isHeld(const Graph::Node& accumulates) { return accumulates.arguments[2].literal.toBool(); }

bool layOutAs(const Tensor& leaf, const Tensor& gradient) {
  if (!gradient.sizes().equals(leaf.sizes()) || !leaf.is_non_overlapping_and_dense()) return false;
  for (int64_t d = 0; d < leaf.dim(); ++d)
    if (leaf.size(d) != 1 && gradient.stride(d) != leaf.stride(d)) return false;  // it will be copied
  if (!gradient.strides().equals(leaf.strides()))
    gradient.unsafeGetTensorImpl()->set_sizes_and_strides(leaf.sizes(), leaf.strides(), gradient.storage_offset());
  return true;
}

void layOutAsLeaf(const Step& step, Frame& frame) {
  const Operand &leaf = step.operands[0], &given = step.operands[1];
  if (leaf.kind != Operand::Kind::kTensor || given.kind != Operand::Kind::kTensor || !given.last) return;
  const Tensor &self = frame.at(leaf.source), &grad = frame.at(given.source);
  if (isPlain(self) && isPlain(grad) && autograd::isAlone(*grad.unsafeGetTensorImpl())) layOutAs(self, grad);
}

void callDirectly(Step& step) {
  if (step.operands.empty() || step.operands[0].kind != Operand::Kind::kTensor) return;
  const DirectCall call = callOf(*step.node);
  if (call == nullptr) return;
  const detail::CallFrame frame(step.op.op());
  const OpState& state = frame.state(step.op.op());
  const TableEntry& entry = state.lookup(kPlainCpu);
  if (entry.reason != EntryReason::kCompositeExplicit || !isOfThisLibrary(entry)) return;
  step.kernel = {kPlainCpu.highestSlot(), entry.version};
  step.direct = call;
}

void readGradLate(Step& step) { step.quick = &readNothingYet; }

bool findsNoGrad(const Step& step) { return step.quick == &readNothingYet; }

void callQuickly(Step& step) {
  if (!mayBeQuick(step)) return;
  const detail::CallFrame frame(step.op.op());
  step.quick = quickCallOf(step, frame.state(step.op.op()));
}

}  // namespace shunt::compiled
