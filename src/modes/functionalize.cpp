// to_functional, from_functional, and functionalize()'s way in and out.
#include <shunt/modes/functionalize.h>

#include "src/modes/functional_forms.h"
#include "src/modes/functional_tensor.h"
#include "src/tensor/printing.h"

#include <shunt/autograd/as_strided_backward.h>
#include <shunt/core/log.h>
#include <shunt/ops.h>

namespace shunt {

using functional::FunctionalTensor;
using functional::functionalOf;

Tensor to_functional(const Tensor& t) {
  SHUNT_CHECK(t.defined(), "to_functional: the tensor is undefined; expected one with data");
  SHUNT_CHECK(!is_functional(t), "to_functional: the tensor is functional already");
  return functional::wrapValue(t);
}

Tensor from_functional(const Tensor& t) {
  SHUNT_CHECK(t.defined(), "from_functional: the tensor is undefined; expected a functional tensor");
  const FunctionalTensor* f = functionalOf(t);
  SHUNT_CHECK(f != nullptr, "from_functional: expected a functional tensor, got one with the keys ", t.key_set(), "; make one with to_functional(t)");
  return f->value();
}

std::optional<OperatorHandle> functional_form(const OperatorHandle& op) {
  const functional::FunctionalForm* form = functional::functionalForm(op);
  return form == nullptr ? std::nullopt : std::optional<OperatorHandle>(form->op);
}

namespace {

/// As expanded tensors do: copy_ refuses them.
bool overlapsItself(const Tensor& t) {
  int64_t places = 1;
  for (int64_t d = 0; d < t.dim(); ++d) {
    if (t.size(d) > 1 && t.stride(d) == 0) return true;
    places += (t.size(d) - 1) * t.stride(d);
  }
  return t.numel() > places;
}

void copyInto(const Tensor& plain, const Tensor& value) {
  if (!overlapsItself(plain)) return (void)plain.copy_(value);
  // The value lies in its storage as the tensor in its own: all of that, then.
  const auto whole = [](const Tensor& t) { return t.as_strided({static_cast<int64_t>(functional::storageBytes(t)) / t.itemsize()}, {1}, 0); };
  whole(plain).copy_(whole(value));
}

}  // namespace

namespace detail {

std::string functionalToString(const Tensor& t) { return "FunctionalTensor(" + from_functional(t).toString() + ")"; }

struct FunctionalizeCall::Inputs {
  struct Input {
    Tensor plain;
    Tensor functional;
    uint64_t generation;
    autograd::TensorGeometry geometry;
  };
  std::vector<Input> all;
  bool written = false;
};

FunctionalizeCall::FunctionalizeCall() : inputs_(std::make_unique<Inputs>()) {}

// The function threw: a leaf that it has given another shape already gets its own again.
FunctionalizeCall::~FunctionalizeCall() {
  if (inputs_->written) return;
  const functional::ModeOff off;
  const NoGradGuard no_grad;
  for (const auto& input : inputs_->all) {
    if (input.plain.sizes() == IntArrayRef(input.geometry.sizes) && input.plain.strides() == IntArrayRef(input.geometry.strides)) continue;
    try {
      input.plain.as_strided_(input.geometry.sizes, input.geometry.strides, input.geometry.storage_offset);
    } catch (const std::exception& e) {
      logWarning(str("functionalize: an argument keeps the shape that the function gave it before it threw: ", e.what()));
    }
  }
}

Tensor FunctionalizeCall::wrap(const Tensor& t) {
  for (const auto& known : inputs_->all)
    if (known.plain.is_same(t)) return known.functional;
  const functional::ModeOff off;
  Tensor wrapped;
  for (const auto& known : inputs_->all)
    if (known.plain.unsafeGetTensorImpl()->has_storage() && known.plain.is_alias_of(t) && known.plain.dtype() == t.dtype()) {
      wrapped = functional::wrapView(*functionalOf(known.functional), functional::stridedLink(t.sizes(), t.strides(), t.storage_offset()), t);
      break;
    }
  if (!wrapped.defined()) wrapped = to_functional(t);
  functionalOf(wrapped)->base().setInput();
  inputs_->all.push_back({t, wrapped, functionalOf(wrapped)->base().generation(), autograd::TensorGeometry(t)});
  return wrapped;
}

void FunctionalizeCall::writeBack() {
  const functional::ModeOff off;
  inputs_->written = true;
  for (const auto& [plain, wrapped, generation, geometry] : inputs_->all) {
    const FunctionalTensor& now = *functionalOf(wrapped);
    // What was changed under no_grad is no part of the graph.
    const AutoGradMode grad(GradMode::is_enabled() && !(plain.requires_grad() && plain.is_leaf()));
    // An input's own links come of in-place view operators.
    for (const functional::Link& link : now.chain())
      if (link.op.operator_name().name == "aten::detach") plain.detach_();
    if (!functional::sameGeometry(*plain.unsafeGetTensorImpl(), now)) {
      if (now.base().storage()->nbytes() > functional::storageBytes(plain)) plain.resize_(now.sizes());
      plain.as_strided_(now.sizes(), now.strides(), now.storage_offset());
    }
    if (now.base().generation() != generation && !plain.is_same(now.value())) copyInto(plain, now.value());
    // It had no graph when it got another shape, so another tensor was its leaf.
    if (const Tensor& leaf = now.base().leaf(); now.isItself() && leaf.defined() && leaf.requires_grad() && !leaf.is_same(plain)) {
      plain.requires_grad_();
      plain.mutable_grad() = leaf.grad();
    }
  }
}

Tensor FunctionalizeCall::unwrap(const Tensor& t) {
  const FunctionalTensor& result = *functionalOf(t);
  for (const auto& input : inputs_->all)
    if (input.functional.is_same(t)) return input.plain;
  const functional::ModeOff off;
  for (const auto& input : inputs_->all) {
    const FunctionalTensor& f = *functionalOf(input.functional);
    if (&f.base() != &result.base()) continue;
    // The input's own links may have grown since; the first input of a base began without any.
    Tensor view = input.plain;
    const size_t from = f.chain().size();
    if (from != 0) return view.as_strided(result.sizes(), result.strides(), result.storage_offset());
    for (const functional::Link& link : result.chain()) view = link.apply(view);
    return view;
  }
  return result.value();
}

}  // namespace detail
}  // namespace shunt
