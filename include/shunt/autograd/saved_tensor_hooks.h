// Saved-tensor hooks: what a program keeps in place of the tensors that nodes save for their backward, as
// torch.autograd.graph.saved_tensors_hooks does: moved to a disk, compressed, counted.
//
// A stack for each thread; the innermost pair packs what the thread's calls save from then on, and unpacks it whenever
// it is used, on the thread that runs backward. Packing runs without grad mode, and no hook packs what another saves.
#pragma once

#include <shunt/tensor/tensor.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace shunt::autograd {

/// What is called in place of keeping a saved tensor: `pack` when it is saved, `unpack` when backward needs it.
struct SavedTensorHooks {
  /// What to keep of `tensor`, which it must not change.
  std::function<std::shared_ptr<void>(const Tensor& tensor)> pack;
  /// A tensor of the same elements again. Once for each use.
  std::function<Tensor(const std::shared_ptr<void>& packed)> unpack;
};

/// Throws while saved-tensor hooks are disabled on this thread.
SHUNT_API void push_saved_tensor_hooks(std::shared_ptr<const SavedTensorHooks> hooks);
SHUNT_API void pop_saved_tensor_hooks();

/// Pushes and pops for a scope.
class [[nodiscard]] SavedTensorHooksGuard {
 public:
  explicit SavedTensorHooksGuard(SavedTensorHooks hooks) {
    push_saved_tensor_hooks(std::make_shared<const SavedTensorHooks>(std::move(hooks)));
  }
  ~SavedTensorHooksGuard() { pop_saved_tensor_hooks(); }
  SavedTensorHooksGuard(const SavedTensorHooksGuard&) = delete;
  SavedTensorHooksGuard& operator=(const SavedTensorHooksGuard&) = delete;
};

/// With a message: pushing throws it on this thread from now on. Returns what was set before, to be set again.
/// Throws `message` at once if there are hooks already.
SHUNT_API std::optional<std::string> set_saved_tensor_hooks_disabled(std::optional<std::string> message);

}  // namespace shunt::autograd
