#include "src/transforms/vmap/changes_outside.h"

#include <shunt/autograd/graph_tensor.h>

#include <utility>

namespace shunt::levels {

/// Notes how the value is. Returns by how much it was changed since that was done last. A functional tensor that was
/// written shows another tensor.
uint32_t ChangesOutside::look(Followed& followed, const Tensor& value) {
  try {
    const Tensor& shown = autograd::graph_tensor(value);
    const auto before = std::exchange(followed.shown, weak_intrusive_ptr(shown.getIntrusivePtr()));
    const uint32_t old = std::exchange(followed.version, shown.unsafeGetTensorImpl()->version().current());
    return before.unsafeGet() == shown.unsafeGetTensorImpl() ? followed.version - old : 1;
  } catch (const Error&) {
    return 0;  // shows nothing that is good any more: the error of whoever needs it
  }
}

void ChangesOutside::functionReturned() noexcept {
  std::erase_if(tensors_, [](const Followed& f) { return f.tensor.expired(); });
  for (Followed& f : tensors_)
    if (const auto tensor = f.tensor.lock()) look(f, tensor->value);
}

void ChangesOutside::follow() {
  for (Followed& f : tensors_)
    if (const auto tensor = f.tensor.lock())
      tensor->version().set(tensor->version().current() + look(f, tensor->value));
}

}  // namespace shunt::levels
