// Saved-tensor hooks: the program chooses what to keep in place of the tensors that nodes save for backward, as with
// torch.autograd.graph.saved_tensors_hooks. Examples: move them to disk, compress them, count them.
//
// Each thread has a stack of hooks. The innermost pair packs everything that the thread's calls save. Its unpack runs
// on the thread that runs backward, also after the pair was popped. Packing runs with grad mode off, and no hook packs
// what another hook's operators save.
#pragma once

#include <shunt/tensor/tensor.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace shunt::autograd {

/// Replaces the keeping of a saved tensor: `pack` runs when it is saved, `unpack` when backward needs it.
struct SavedTensorHooks {
  /// Returns what to keep of `tensor`. Saving throws when pack changes the tensor in place.
  std::function<std::shared_ptr<void>(const Tensor& tensor)> pack;
  /// Returns a tensor of the same elements. Runs once for each use.
  std::function<Tensor(const std::shared_ptr<void>& packed)> unpack;
};

/// Push throws while saved-tensor hooks are disabled on this thread; pop throws when the thread has none.
SHUNT_API void push_saved_tensor_hooks(std::shared_ptr<const SavedTensorHooks> hooks);
SHUNT_API void pop_saved_tensor_hooks();

/// Pushes the hooks in its constructor and pops them in its destructor.
class [[nodiscard]] SavedTensorHooksGuard {
 public:
  explicit SavedTensorHooksGuard(SavedTensorHooks hooks) {
    push_saved_tensor_hooks(std::make_shared<const SavedTensorHooks>(std::move(hooks)));
  }
  ~SavedTensorHooksGuard() { pop_saved_tensor_hooks(); }
  SavedTensorHooksGuard(const SavedTensorHooksGuard&) = delete;
  SavedTensorHooksGuard& operator=(const SavedTensorHooksGuard&) = delete;
};

/// Given a message, disables hooks on this thread: pushing throws that message. nullopt enables them again. Returns the
/// previous setting, so that the caller can restore it. Throws `message` at once if the thread already has hooks.
SHUNT_API std::optional<std::string> set_saved_tensor_hooks_disabled(std::optional<std::string> message);

}  // namespace shunt::autograd
