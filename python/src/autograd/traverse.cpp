#include "python/src/autograd/traverse.h"

#include "python/src/autograd/function_node.h"
#include "python/src/autograd/hooks.h"

#include <shunt/autograd/autograd_meta.h>

namespace shunt::python {

using namespace autograd;

namespace {

/// Shows the functions of hooks of type Hook among those of a list.
template <class Hook, class List>
int visitHooks(const List& list, visitproc visit, void* arg) {
  int status = 0;
  list.forEach([&](const auto& hook, unsigned) {
    const auto* in_python = hook.template target<Hook>();
    // A copy of the hook elsewhere holds its function, too.
    if (status == 0 && in_python != nullptr && in_python->function.use_count() == 1)
      status = visit(in_python->function.get(), arg);
  });
  return status;
}

int visitNode(const Node& node, visitproc visit, void* arg) {
  if (const auto* function = dynamic_cast<const FunctionNode*>(&node); function != nullptr)
    Py_VISIT(function->context());
  if (node.owns_foreign_object()) Py_VISIT(static_cast<PyObject*>(node.foreign_object()));
  const NodeHooks* hooks = node.unfolds() ? nullptr : node.hooks();
  if (hooks == nullptr) return 0;
  if (const int status = visitHooks<NodePreHook>(hooks->pre, visit, arg)) return status;
  return visitHooks<NodePostHook>(hooks->post, visit, arg);
}

}  // namespace

int visitHistory(const Tensor& t, visitproc visit, void* arg) {
  const AutogradMeta* meta = get_autograd_meta(t);
  if (meta == nullptr) return 0;
  const intrusive_ptr<Node>& node = meta->grad_fn_;
  const bool alone = !node || node.use_count() == 1;
  if (node && alone)
    if (const int status = visitNode(*node, visit, arg)) return status;
  // The node of a tensor that isn't a leaf shares its hooks.
  if (!meta->hooks_ || !alone || meta->hooks_.use_count() > (node ? 2 : 1)) return 0;
  if (const int status = visitHooks<TensorHook>(meta->hooks_->hooks, visit, arg)) return status;
  return visitHooks<AccumulateHook>(meta->hooks_->post_accumulate, visit, arg);
}

}  // namespace shunt::python
