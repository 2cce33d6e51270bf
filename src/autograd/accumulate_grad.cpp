#include <shunt/autograd/accumulate_grad.h>

#include <shunt/autograd/autograd_meta.h>
#include <shunt/autograd/graph_tensor.h>
#include <shunt/autograd/variable_utils.h>
#include <shunt/core/dispatcher.h>
#include <shunt/core/tls.h>
#include <shunt/ops.h>

#include "src/autograd/accumulate.h"
#include "src/autograd/hooks.h"
#include "src/autograd/plain_grad.h"
#include "src/autograd/unshared.h"

#include <limits>

namespace shunt::autograd {
namespace {

// A leaf's grad lies in memory as the leaf does, so that optimizers walk both alike.
bool obeysLayoutContract(const Tensor& grad, const Tensor& variable) {
  if (!variable.is_non_overlapping_and_dense()) return grad.is_contiguous();
  for (int64_t d = 0; d < variable.dim(); ++d)
    if (variable.size(d) != 1 && grad.stride(d) != variable.stride(d)) return false;
  return true;
}

// Of a tensor that a KernelClass handles: its class says how it lies.
bool hasClass(const Tensor& t) { return t.key_set().has(DispatchKey::PythonKernel); }

Tensor cloneObeyingContract(const Tensor& grad, const Tensor& variable) {
  if (hasClass(grad) || hasClass(variable)) [[unlikely]]
    return grad.clone();
  if (!variable.is_non_overlapping_and_dense()) return grad.clone(MemoryFormat::Contiguous);
  Tensor result = empty_strided(variable.sizes(), variable.strides(), grad.options());
  result.copy_(grad);
  return result;
}

// The other holder of an unshared gradient's memory: what it is a view of.
bool hasBase(const Tensor& unshared) { return unshared.storage().use_count() > 1; }

// Whether the leaf can keep the gradient as it is. A view of a part of its base is copied, since it would keep the
// rest.
bool canKeep(const Tensor& grad, const Tensor& variable) {
  return isUnshared(grad) && obeysLayoutContract(grad, variable) &&
         (!hasBase(grad) || static_cast<size_t>(grad.numel() * grad.itemsize()) == grad.storage()->nbytes());
}

// Nobody else has the tensor, so it changes in place: it forgets what it is a view of. Of a view, dimensions of size 1,
// whose strides mean nothing, get the leaf's, as in a copy.
Tensor asGradOf(const Tensor& variable, Tensor grad) {
  TensorImpl* impl = grad.unsafeGetTensorImpl();
  const bool view = hasBase(grad);
  if (impl->autograd_meta() != nullptr) {
    set_autograd_key(grad, false);
    impl->set_autograd_meta(nullptr);
  }
  if (view && !grad.strides().equals(variable.strides()) && variable.is_non_overlapping_and_dense())
    impl->set_sizes_and_strides(variable.sizes(), variable.strides(), grad.storage_offset());
  return grad;
}

void firstGrad(Tensor& slot, const Tensor& variable, Tensor grad) {
  const bool keep = !GradMode::is_enabled() && canKeep(grad, variable);
  slot = keep ? asGradOf(variable, std::move(grad)) : cloneObeyingContract(grad, variable);
}

// What has no numbers can't be the gradient of what has some, nor be added to it; nor the other way round.
void checkKind(const char* what, const Tensor& grad, const Tensor& variable) {
  SHUNT_CHECK(isFake(grad) == isFake(variable), "backward: ", what, " a leaf of shape ", variable.sizes(), " is a ",
              isFake(grad) ? "fake tensor, and the leaf is a real one" : "real tensor, and the leaf is a fake one");
}

}  // namespace

bool keepAsGrad(const Tensor& variable, Tensor& grad) {
  AutogradMeta* meta = get_autograd_meta(variable);
  const TensorImpl &v = *variable.unsafeGetTensorImpl(), &g = *grad.unsafeGetTensorImpl();
  if (meta == nullptr || meta->grad_.defined() || g.signature() != v.signature() ||
      !shunt::detail::signature::isPlainCpu(g.signature()) || !g.sizes().equals(v.sizes()))
    return false;
  if (g.numel() == 0 && !g.strides().equals(v.strides())) [[unlikely]]
    return false;  // empty tensors are contiguous, whatever their strides
  if (g.autograd_meta() != nullptr || !isAlone(g) || !g.storage().unique() || g.storage()->allocator() == nullptr)
    return false;
  meta->grad_ = std::move(grad);
  return true;
}

void accumulate(const Tensor& variable, Tensor grad) {
  Tensor& slot = materialize_autograd_meta(variable)->grad_;
  checkKind("the gradient for", grad, variable);
  if (slot.defined()) checkKind("the grad that was set on", slot, variable);
  if (!slot.defined())
    firstGrad(slot, variable, std::move(grad));
  else if (GradMode::is_enabled() || hasClass(slot) || hasClass(grad))
    slot = slot.add(grad);
  else
    slot.add_(grad);
}

Stack callRecorded(const char* name, Stack arguments) {
  Dispatcher::singleton().findSchemaOrThrow(name).callBoxed(arguments);
  return arguments;
}

AccumulateGrad::AccumulateGrad(Tensor variable_in)
    // Runs as soon as its gradient is there, which frees the buffer.
    : Node(std::numeric_limits<uint64_t>::max(), {}), variable(std::move(variable_in)) {
  add_input_metadata(variable);
}

void AccumulateGrad::release_resources() {
  Node::release_resources();
  variable.reset();
}

variable_list AccumulateGrad::apply(variable_list&& grads) {
  SHUNT_INTERNAL_ASSERT(grads.size() == 1, "AccumulateGrad got ", grads.size(), " gradients");
  Tensor grad = std::move(grads[0]);
  grads.clear();
  if (!grad.defined() || !variable.requires_grad()) return {};
  const AutogradMeta* meta = get_autograd_meta(variable);
  if (meta->hooks_) grad = runHooks(*meta->hooks_, std::move(grad));
  accumulateAfterHooks(std::move(grad));
  return {};
}

void AccumulateGrad::accumulateAfterHooks(Tensor grad) {
  if (!grad.defined() || !variable.requires_grad()) return;
  SHUNT_CHECK(!variable.grad_fn(), "leaf variable has been moved into the graph interior");
  if (activeTrace() != nullptr) [[unlikely]] {
    const bool held = !hasOneHolder(grad) || (forwards_graph(grad) && !hasOneHolder(graph_tensor(grad)));
    callRecorded("trace::accumulate_grad_", {variable, std::move(grad), held});
  } else {
    const std::lock_guard lock(mutex_);
    accumulate(variable, std::move(grad));
  }
  if (get_autograd_meta(variable)->hooks_) [[unlikely]]
    runPostAccumulateHooks(variable);  // without the lock: they may run backward themselves
}

}  // namespace shunt::autograd
