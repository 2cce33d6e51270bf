#include "src/autograd/restricted_view.h"

#include <shunt/core/error.h>

namespace shunt::autograd {
namespace {

const char* whyAndWhatToDo(CreationMeta how) {
  switch (how) {
    case CreationMeta::kMultiOutputNode:
      return "This view is the output of a function that returns multiple views, which cannot be followed. Use the "
             "out-of-place form of the operator, or make the view by select() or slice(), which return one.";
    case CreationMeta::kNoGradMode:
      return "It is unclear whether the change is to be recorded for the view. Make the view and the change both "
             "inside no_grad, or both outside; or make the view anew, or detach() it.";
    case CreationMeta::kInferenceMode:
      return "It is unclear whether the change is to be recorded for the view. Make the view and the change both "
             "inside InferenceMode, or both outside; or make the view anew.";
    default:
      return "This view was created inside a custom Function (or is an input that it returned as it was), and "
             "following the change would lose the function's own backward. Clone the function's output, and use the "
             "clone.";
  }
}

const char* modeOf(CreationMeta how) {
  if (how == CreationMeta::kInferenceMode) return "inference mode";
  return how == CreationMeta::kNoGradMode ? "no_grad mode" : nullptr;
}

}  // namespace

void throwRestrictedView(const DifferentiableViewMeta& view, bool indirect) {
  using shunt::detail::str;
  const char* mode = modeOf(view.creation_meta_);
  const Node* node = view.grad_fn_.get();
  std::string what = node == nullptr ? "A view" : str("Output ", view.output_nr_, " of ", node->name(), " is a view");
  if (mode != nullptr) what += str(node == nullptr ? "" : " that", " was created in ", mode);
  if (indirect)
    what += " and its base or another view of its base has been modified inplace";
  else
    what += node == nullptr && mode == nullptr ? " is being modified inplace" : " and is being modified inplace";
  if (view.creation_meta_ == CreationMeta::kInferenceMode)
    what += " in normal mode";
  else if (!indirect)
    what += " with grad mode enabled";
  SHUNT_CHECK(false, what, ". ", whyAndWhatToDo(view.creation_meta_));
  __builtin_unreachable();
}

}  // namespace shunt::autograd
