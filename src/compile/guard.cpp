#include "src/compile/guard.h"

#include <shunt/autograd/accumulate_grad.h>
#include <shunt/autograd/autograd_meta.h>
#include <shunt/core/tls.h>
#include <shunt/tensor/scalar_type.h>

#include <algorithm>

namespace shunt::compiled {
namespace {

const StorageImpl* storageOf(const Tensor& t) {
  const TensorImpl* impl = t.unsafeGetTensorImpl();
  return impl->has_storage() ? impl->storage().get() : nullptr;
}

bool hasGrad(const Tensor& t) {
  const auto* meta = autograd::get_autograd_meta(t);
  return meta != nullptr && meta->grad_.defined();
}

uint64_t bitsOf(const double* scalar) { return std::bit_cast<uint64_t>(*scalar); }

constexpr uint64_t raw(DispatchKeySet keys) { return keys.functionalities().raw(); }

}  // namespace

const char* whyNotOnThisThread() {
  constexpr uint64_t kUsual = detail::kDefaultIncluded;
  constexpr uint64_t kOfGuards = raw(kAutogradAndViewKeys) | raw(kAutocastKeys);
  const detail::LocalState& s = detail::tls_state;
  if ((s.included & ~kUsual) != 0) {
    const auto on = DispatchKeySet::fromRaw(s.included);
    if (on.has(Functionality::Tracer)) return "it was called in a trace";
    if (on.has(Functionality::Batched)) return "it was called inside vmap or grad";
    if (on.has(Functionality::Functionalize)) return "it was called under functionalize";
    if (on.has(Functionality::Fake)) return "it was called in a fake mode";
    return "a dispatch mode, or a key that a guard includes, was on";
  }
  if ((s.user_excluded & ~(kOfGuards | detail::kDefaultExcluded)) != 0) return "a guard excludes keys";
  if ((s.mode & detail::kModeAnomaly) != 0) return "anomaly detection was on";
  return nullptr;
}

const char* whyNotWith(const Tensor& t) {
  if (!t.defined()) return nullptr;
  constexpr DispatchKeySet kWrappers =
      DispatchKeySet::of(Functionality::Python) | DispatchKeySet::of(Functionality::Functionalize) |
      DispatchKeySet::of(Functionality::Batched) | DispatchKeySet::of(Functionality::Tracer) |
      DispatchKeySet::of(Functionality::Fake) | DispatchKeySet::of(Functionality::TransformBack);
  if (t.key_set().hasAny(kWrappers)) return "a tensor is a wrapper, or fake";
  const auto* meta = autograd::get_autograd_meta(t);
  if (meta == nullptr || !meta->requires_grad()) return nullptr;
  if (!t.is_leaf()) return "a tensor has a graph from outside of the function";
  const auto accumulator = meta->grad_accumulator_.lock();
  const bool hooked = meta->hooks_ != nullptr || (accumulator.defined() && accumulator->hooks() != nullptr);
  return hooked ? "a tensor has hooks" : nullptr;
}

Guard::Guard(const detail::CompileArguments& arguments, const CompileOptions& options, std::vector<Tensor> captured,
             bool offsets)
    : options_(options),
      types_(arguments.types),
      numbers_(arguments.numbers.begin(), arguments.numbers.end()),
      captured_(std::move(captured)),
      modes_(Graph::Modes::now()),
      default_dtype_(get_default_dtype()),
      offsets_(offsets) {
  for (const double* s : options.scalars) scalars_.push_back(bitsOf(s));
  for (const Tensor* t : options.captures) variables_.push_back(t->unsafeGetTensorImpl());
  for (size_t i = 0; i < arguments.tensors.size() + captured_.size(); ++i) {
    const Tensor& t = tensor(arguments, i);
    TensorKind& kind = tensors_.emplace_back();
    kind.same = kind.home = i;
    if (!t.defined()) continue;
    kind.defined = true;
    kind.keys = t.key_set();
    kind.dtype = t.dtype();
    kind.device = t.device();
    kind.sizes = t.sizes().vec();
    kind.strides = t.strides().vec();
    kind.offset = t.storage_offset();
    kind.requires_grad = t.requires_grad();
    kind.is_leaf = t.is_leaf();
    kind.has_grad = hasGrad(t);
    kind.wrapped_number = t.unsafeGetTensorImpl()->is_wrapped_number();
    kind.storage = storageOf(t);
    for (size_t j = i; j-- > 0;) {
      const Tensor& other = tensor(arguments, j);
      if (other.is_same(t)) kind.same = j;
      if (other.defined() && storageOf(other) != nullptr && storageOf(other) == storageOf(t)) kind.home = j;
    }
  }
}

/// `found(what, i)` is told of the first difference: of tensor i, or of the call.
template <class Found>
bool Guard::compare(const detail::CompileArguments& arguments, Found&& found) const {
  constexpr size_t kCall = ~size_t{0};
  if (*arguments.types != *types_ || arguments.tensors.size() + captured_.size() != tensors_.size())
    return found("types", kCall), false;
  if (!std::ranges::equal(arguments.numbers, numbers_)) return found("numbers", kCall), false;
  if (!std::ranges::equal(options_.scalars, scalars_, {}, bitsOf)) return found("scalars", kCall), false;
  if (!std::ranges::equal(options_.captures, variables_, {}, [](const Tensor* t) { return t->unsafeGetTensorImpl(); }))
    return found("captured variables", kCall), false;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const TensorKind& kind = tensors_[i];
    const Tensor& t = tensor(arguments, i);
    if (t.defined() != kind.defined) return found("being defined", i), false;
    if (!kind.defined) continue;
    if (t.dtype() != kind.dtype) return found("dtype", i), false;
    if (t.sizes() != IntArrayRef(kind.sizes)) return found("sizes", i), false;
    if (t.strides() != IntArrayRef(kind.strides)) return found("strides", i), false;
    if (t.key_set() != kind.keys || t.device() != kind.device) return found("keys", i), false;
    if (t.requires_grad() != kind.requires_grad || t.is_leaf() != kind.is_leaf) return found("gradient", i), false;
    if (hasGrad(t) != kind.has_grad) return found("having a grad", i), false;
    if (t.unsafeGetTensorImpl()->is_wrapped_number() != kind.wrapped_number) return found("number", i), false;
    if (kind.requires_grad && whyNotWith(t) != nullptr) return found("hooks", i), false;
    if (offsets_ && t.storage_offset() != kind.offset) return found("offset", i), false;
    // Captured tensors are the same ones as ever, and while their storages are, they share what they shared.
    if (i >= arguments.tensors.size() && storageOf(t) != kind.storage) return found("storage", i), false;
    for (size_t j = 0; j < std::min(i, arguments.tensors.size()); ++j) {
      const Tensor& other = arguments.tensors[j];
      if (!other.defined()) continue;
      const TensorKind& its = tensors_[j];
      if (other.is_same(t) != (its.same == kind.same)) return found("being another argument", i), false;
      const bool shared = storageOf(other) != nullptr && storageOf(other) == storageOf(t);
      if (shared != (its.home == kind.home)) return found("sharing memory", i), false;
    }
  }
  if (get_default_dtype() != default_dtype_) return found("default dtype", kCall), false;
  if (!(Graph::Modes::now() == modes_)) return found("grad mode, inference mode or autocast", kCall), false;
  return true;
}

bool Guard::holds(const detail::CompileArguments& arguments) const {
  return compare(arguments, [](const char*, size_t) {});
}

std::string Guard::difference(const detail::CompileArguments& arguments) const {
  std::string text;
  compare(arguments, [&](const char* what, size_t i) {
    if (i == ~size_t{0})
      text = what;
    else if (i < arguments.tensors.size())
      text = detail::str("tensor ", i, " of the arguments: ", what);
    else
      text = detail::str("captured tensor ", i - arguments.tensors.size(), ": ", what);
  });
  return text;
}

std::string Guard::key() const {
  std::string text = types_->name();
  for (const uint64_t n : numbers_) text += detail::str(' ', n);
  for (const uint64_t s : scalars_) text += detail::str(" s", s);
  for (const TensorImpl* v : variables_) text += detail::str(" v", static_cast<const void*>(v));
  for (const TensorKind& t : tensors_)
    text += detail::str(" t", t.defined, t.keys.raw(), t.dtype, t.device.str(), IntArrayRef(t.sizes),
                        IntArrayRef(t.strides), t.requires_grad, t.is_leaf, t.has_grad, t.wrapped_number, ' ', t.same,
                        ' ', t.home);
  text += detail::str(" m", modes_.grad, modes_.inference, modes_.cast_cache, modes_.in_autocast, modes_.excluded);
  for (const auto& [device, dtype] : modes_.autocast) text += detail::str(' ', device, dtype);
  return text + detail::str(" d", default_dtype_);
}

std::string Guard::describe() const {
  std::string text = "for";
  const size_t arguments = tensors_.size() - captured_.size();
  for (size_t i = 0; i < arguments; ++i) {
    const TensorKind& kind = tensors_[i];
    text += kind.defined ? detail::str(' ', kind.dtype, IntArrayRef(kind.sizes), kind.requires_grad ? ":grad" : "")
                         : " undefined";
  }
  if (!numbers_.empty()) text += detail::str(", ", numbers_.size(), " numbers");
  text += detail::str(", ", captured_.size(), " captured tensors, grad mode ", modes_.grad ? "on" : "off");
  if (modes_.inference) text += ", inference mode";
  for (const auto& [device, dtype] : modes_.autocast) text += detail::str(", autocast ", device, " to ", dtype);
  return text;
}

}  // namespace shunt::compiled
