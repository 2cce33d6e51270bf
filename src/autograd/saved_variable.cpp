#include <shunt/autograd/saved_variable.h>

#include <shunt/autograd/variable_utils.h>

#include "src/autograd/saved_output.h"
#include "src/autograd/storage_and_grad.h"
#include "src/autograd/view_node.h"
#include "src/tensor/tensor_block.h"

#include <algorithm>
#include <utility>

namespace shunt::autograd {

// The view's own grad_fn may be gone when it is unpacked; the base's, CopySlices, is then running.
struct SavedVariable::ChangedView final : intrusive_ptr_target {
  ChangedView(const Tensor& view, const Tensor& base)
      : alias(detached_alias(view)), base(base), base_grad_fn(base.grad_fn()) {}

  Tensor alias;
  TensorGeometry base;
  weak_intrusive_ptr<Node> base_grad_fn;
};

namespace {

constinit thread_local const SavesInstead* saves_instead SHUNT_TLS_MODEL = nullptr;

intrusive_ptr<TensorImpl> detachedImpl(const TensorImpl& t) {
  return make_intrusive<TensorImpl>(t, t.key_set() - kAutogradKeys);
}

bool isRowMajor(const TensorImpl& t) {
  if (t.sizes().size() == 1) return t.strides()[0] == 1;
  int64_t expected = 1;
  for (size_t d = t.sizes().size(); d-- > 0;) {
    if (t.strides()[d] != expected) return false;
    expected *= std::max<int64_t>(t.sizes()[d], 1);
  }
  return true;
}

/// Whether its storage, and what a node says of an output, are all there is to `t`. Note [Saved results].
bool isWholeStorage(const TensorImpl& t) {
  return t.key_set() - kAutogradKeys == ordinaryKeys(BackendComponent::CPU) && t.has_storage() &&
         t.storage_offset() == 0 && !t.has_own_version_counter() && !t.is_wrapped_number() && isRowMajor(t);
}

}  // namespace

SavesInstead::SavesInstead(const Tensor& first, uint32_t output_nr)
    : outer_(std::exchange(saves_instead, this)), first_(first), output_nr_(output_nr) {}
SavesInstead::~SavesInstead() { saves_instead = outer_; }

bool SavesInstead::is_for(const Tensor& result, uint32_t output_nr) const {
  return output_nr == output_nr_ && result.dtype() == first_.dtype() && result.sizes().equals(first_.sizes()) &&
         result.strides().equals(first_.strides());
}

void SavedVariable::throwInference() {
  SHUNT_CHECK(
      false,
      "Inference tensors cannot be saved for backward. Clone the tensor outside InferenceMode and use the clone.");
  __builtin_unreachable();
}

void SavedVariable::saveOutput(const Tensor& output, const AutogradMeta& meta, bool is_inplace_on_view, bool is_new) {
  if (meta.is_view_) [[unlikely]]
    return saveView(output, is_inplace_on_view);
  SHUNT_CHECK(meta.output_nr_ < 1u << kOutputBits, "output ", meta.output_nr_, " of ", meta.grad_fn_->name(),
              " can't be saved: a node that saves outputs has at most 2^29");
  if (saves_instead != nullptr && saves_instead->is_for(output, meta.output_nr_)) [[unlikely]] {
    const TensorImpl& first = *saves_instead->first().unsafeGetTensorImpl();
    saved_version_ = first.version().current();
    return put(Kind::kAlias, detachedImpl(first), meta.output_nr_);
  }
  const TensorImpl& impl = *output.unsafeGetTensorImpl();
  if (!is_new || !isWholeStorage(impl)) {
    if (impl.is_inference()) throwInference();
    return put(Kind::kAlias, detachedImpl(impl), meta.output_nr_);
  }
  StorageImpl* storage = impl.storage().get();
  // Out of others' reach (unshared.h, Note [Gradients nobody else sees]), so that nobody counts at the same time.
  if (IntrusiveAccess::alone(impl) && IntrusiveAccess::alone(*storage))
    return put(Kind::kStorage, intrusive_ptr<StorageImpl>::reclaim(IntrusiveAccess::shareAlone(storage)),
               meta.output_nr_);
  put(Kind::kStorage, intrusive_ptr<StorageImpl>::retainFrom(storage), meta.output_nr_);
}

void SavedVariable::saveView(const Tensor& output, bool is_inplace) {
  if (is_inplace)
    return put(Kind::kChangedView, make_intrusive<ChangedView>(output, get_view_autograd_meta(output)->base_));
  if (output.is_leaf()) return put(Kind::kOriginal, output.getIntrusivePtr());
  put(Kind::kAlias, detachedImpl(*output.unsafeGetTensorImpl()), outputNrOf(output));
}

SavedVariable SavedVariable::inplace_operand(const Tensor& operand, const Tensor& self) {
  const bool overwritten = operand.defined() && !self.is_inference() && !operand.is_inference() &&
                           &operand.unsafeGetTensorImpl()->version() == &self.unsafeGetTensorImpl()->version();
  return SavedVariable(overwritten ? detached_alias(operand) : operand, false);
}

Tensor SavedVariable::unpack(intrusive_ptr<Node> saved_for) const {
  if (kind_ == Kind::kNothing) return {};
  if (!held_) throw_backward_twice();
  if (kind_ == Kind::kPacked) return unpackPacked(std::move(saved_for));
  if (kind_ != Kind::kOriginal) return unpackOutput(std::move(saved_for));
  Tensor tensor(intrusive_ptr<TensorImpl>::retainFrom(static_cast<TensorImpl*>(held_.get())));
  const intrusive_ptr<Node>& grad_fn = tensor.grad_fn();  // throws for a view that can't be followed
  if (tensor.unsafeGetTensorImpl()->version().current() != saved_version_) [[unlikely]]
    throwModified(tensor, grad_fn);
  return tensor;
}

Tensor SavedVariable::unpackOutput(intrusive_ptr<Node> saved_for) const {
  SHUNT_INTERNAL_ASSERT(kind_ == Kind::kChangedView || saved_for.defined(),
                        "a saved output needs the node that saved it");
  intrusive_ptr<Node> grad_fn = std::move(saved_for);
  Tensor result;
  if (kind_ == Kind::kStorage) {
    result = fromStorage(*grad_fn);
  } else if (kind_ == Kind::kAlias) {
    result = Tensor(detachedImpl(heldImpl()));
  } else {
    const auto& view = static_cast<const ChangedView&>(*held_);
    grad_fn = make_view_node(view.base, view.alias, Edge(view.base_grad_fn.lock(), 0));
    result = detached_alias(view.alias);
  }
  if (result.unsafeGetTensorImpl()->version().current() != saved_version_) [[unlikely]]
    throwModified(result, grad_fn);
  set_gradient_edge(result, Edge(std::move(grad_fn), output_nr_));
  return result;
}

Tensor SavedVariable::fromStorage(const Node& saved_for) const {
  SHUNT_CHECK(output_nr_ < saved_for.num_inputs() && !saved_for.input_metadata(output_nr_).is_undefined(),
              saved_for.name(), " has saved its output ", output_nr_,
              ", which it doesn't describe any more: clear_input_metadata() was called");
  const InputMetadata& output = saved_for.input_metadata(output_nr_);
  Storage storage(intrusive_ptr<StorageImpl>::retainFrom(static_cast<StorageImpl*>(held_.get())));
  auto impl = make_intrusive<TensorImpl>(std::move(storage), ordinaryKeys(BackendComponent::CPU), output.dtype());
  impl->set_sizes_contiguous(output.sizes());
  return Tensor(std::move(impl));
}

void SavedVariable::throwModified(const Tensor& tensor, const intrusive_ptr<Node>& grad_fn) const {
  std::string which = shunt::detail::str("[", tensor.scalar_type(), " ", tensor.sizes(), "]");
  if (grad_fn) {
    const int64_t nr = kind_ == Kind::kOriginal ? outputNrOf(tensor) : output_nr_;
    which += shunt::detail::str(", which is output ", nr, " of ", grad_fn->name(), ",");
  }
  SHUNT_CHECK(
      false, "one of the variables needed for gradient computation has been modified by an inplace operation: ", which,
      " is at version ", tensor.unsafeGetTensorImpl()->version().current(), "; expected version ", saved_version_,
      " instead. Change a clone of it, or use the out-of-place form of the operator that came after.");
  __builtin_unreachable();
}

template <class List>
static std::vector<SavedVariable> saveEach(List tensors, bool is_output) {
  std::vector<SavedVariable> saved;
  saved.reserve(tensors.size());
  for (const auto& t : tensors) saved.emplace_back(t, is_output);
  return saved;
}

std::vector<SavedVariable> make_saved_variable_list(TensorList tensors, bool is_output) {
  return saveEach(tensors, is_output);
}
std::vector<SavedVariable> make_saved_variable_list(TensorOptList tensors, bool is_output) {
  return saveEach(tensors, is_output);
}

variable_list unpack_list(const std::vector<SavedVariable>& saved, const intrusive_ptr<Node>& saved_for) {
  variable_list result;
  result.reserve(saved.size());
  for (const SavedVariable& s : saved) result.push_back(s.unpack(saved_for));
  return result;
}

std::vector<std::optional<Tensor>> unpack_opt_list(const std::vector<SavedVariable>& saved,
                                                   const intrusive_ptr<Node>& saved_for) {
  std::vector<std::optional<Tensor>> result;
  result.reserve(saved.size());
  for (const SavedVariable& s : saved) {
    Tensor t = s.unpack(saved_for);
    result.push_back(t.defined() ? std::optional<Tensor>(std::move(t)) : std::nullopt);
  }
  return result;
}

}  // namespace shunt::autograd
