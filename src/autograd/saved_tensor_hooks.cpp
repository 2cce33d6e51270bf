#include <shunt/autograd/saved_tensor_hooks.h>

#include <shunt/autograd/saved_variable.h>
#include <shunt/autograd/variable_utils.h>

#include "src/autograd/storage_and_grad.h"
#include "src/autograd/view_node.h"

#include <memory>
#include <utility>
#include <vector>

namespace shunt::autograd {
namespace {

struct HooksOfThread {
  std::vector<std::shared_ptr<const SavedTensorHooks>> stack;
  std::optional<std::string> disabled;

  static HooksOfThread& current() {
    // On the heap: a program that loads libshunt has little room for thread-locals.
    static thread_local const auto hooks = std::make_unique<HooksOfThread>();
    return *hooks;
  }
};

void setMode(bool on) {
  uint64_t& mode = shunt::detail::tls_state.mode;
  mode = on ? mode | shunt::detail::kModeSavedHooks : mode & ~shunt::detail::kModeSavedHooks;
}

// A hook's operators save nothing for it to pack again.
struct WithoutHooks {
  WithoutHooks() { setMode(false); }
  ~WithoutHooks() { setMode(was_on_); }
  const bool was_on_ = (shunt::detail::tls_state.mode & shunt::detail::kModeSavedHooks) != 0;
};

}  // namespace

void push_saved_tensor_hooks(std::shared_ptr<const SavedTensorHooks> hooks) {
  HooksOfThread& now = HooksOfThread::current();
  SHUNT_CHECK(!now.disabled, *now.disabled);
  now.stack.push_back(std::move(hooks));
  setMode(true);
}

void pop_saved_tensor_hooks() {
  HooksOfThread& now = HooksOfThread::current();
  SHUNT_CHECK(!now.stack.empty(), "pop_saved_tensor_hooks: this thread has no saved-tensor hooks");
  now.stack.pop_back();
  setMode(!now.stack.empty());
}

std::optional<std::string> set_saved_tensor_hooks_disabled(std::optional<std::string> message) {
  HooksOfThread& now = HooksOfThread::current();
  SHUNT_CHECK(!message || now.stack.empty(), *message);
  return std::exchange(now.disabled, std::move(message));
}

// What the hook made of the tensor, and the tensor's place in the graph.
struct SavedVariable::Packed final : intrusive_ptr_target {
  std::shared_ptr<const SavedTensorHooks> hooks;
  std::shared_ptr<void> packed;
  bool is_result = false;  // of the node that saved it
  bool requires_grad = false;
  Edge history;                              // of others
  std::optional<TensorGeometry> view, base;  // of an in-place operator's view, with...
  weak_intrusive_ptr<Node> base_grad_fn;     // ...the base's history
};

void SavedVariable::savePacked(const Tensor& variable, bool is_output, bool is_inplace_on_view) {
  auto kept = make_intrusive<Packed>();
  kept->hooks = HooksOfThread::current().stack.back();
  kept->requires_grad = variable.requires_grad();
  const DifferentiableViewMeta* view = get_view_autograd_meta(variable);
  uint32_t output_nr = 0;
  if (is_output && is_inplace_on_view && view != nullptr) {
    kept->view.emplace(variable);
    kept->base.emplace(view->base_);
    kept->base_grad_fn = weak_intrusive_ptr<Node>(view->base_.grad_fn());
  } else if (is_output && !variable.is_leaf()) {
    kept->is_result = true;
    output_nr = outputNrOf(variable);
    SHUNT_CHECK(output_nr < 1u << kOutputBits, "output ", output_nr, " of a node can't be saved: at most 2^29");
  } else if (kept->requires_grad) {
    kept->history = gradient_edge(variable);
  }
  {
    const AutoGradMode without_history(false);
    const WithoutHooks innermost;
    kept->packed = kept->hooks->pack(variable);
  }
  SHUNT_CHECK(variable.unsafeGetTensorImpl()->version().current() == saved_version_,
              "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot "
              "be modified by in-place operations as this can lead to unexpected side-effects: change a clone.");
  put(Kind::kPacked, std::move(kept), output_nr);
}

Tensor SavedVariable::unpackPacked(intrusive_ptr<Node> saved_for) const {
  const auto& kept = static_cast<const Packed&>(*held_);
  const Tensor data = kept.hooks->unpack(kept.packed);
  SHUNT_CHECK(data.defined(), "a saved tensor unpack hook returned an undefined tensor");
  if (!kept.requires_grad) return data;
  Tensor result = detached_alias(data);
  if (kept.is_result) {
    SHUNT_INTERNAL_ASSERT(saved_for.defined(), "a saved output needs the node that saved it");
    set_gradient_edge(result, Edge(std::move(saved_for), output_nr_));
  } else if (kept.view) {
    set_gradient_edge(result, Edge(make_view_node(*kept.base, *kept.view, data, Edge(kept.base_grad_fn.lock(), 0)), 0));
  } else {
    set_gradient_edge(result, kept.history);
  }
  return result;
}

}  // namespace shunt::autograd
