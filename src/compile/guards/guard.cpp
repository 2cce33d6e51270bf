#include "src/compile/guards/guard.h"

#include "src/autograd/storage_and_grad.h"
#include "src/compile/guards/flat_guard.h"
#include "src/compile/guards/keys_that_matter.h"
#include "src/trace/modes.h"

#include <shunt/autograd/accumulate_grad.h>
#include <shunt/autograd/autograd_meta.h>
#include <shunt/core/tls.h>
#include <shunt/tensor/scalar_type.h>

#include <algorithm>

namespace shunt::compiled {
namespace {

using autograd::gradOf;
using autograd::storageOf;

using Ints = InlineVector<int64_t, 4>;

// A few numbers: a loop is faster than a call of memcmp.
bool isSame(IntArrayRef a, const Ints& b) {
  if (a.size() != b.size()) return false;
  const int64_t* p = b.data();
  for (const int64_t n : a)
    if (n != *p++) return false;
  return true;
}

bool sharesStorage(const Tensor& a, const Tensor& b) { return storageOf(a) != nullptr && storageOf(a) == storageOf(b); }

TensorKind kindOf(const Tensor& t) {
  TensorKind kind;
  if (!t.defined()) return kind;
  kind.defined = true;
  kind.keys = t.key_set();
  kind.dtype = t.dtype();
  kind.device = t.device();
  for (const int64_t n : t.sizes()) kind.sizes.push_back(n);
  for (const int64_t n : t.strides()) kind.strides.push_back(n);
  kind.offset = t.storage_offset();
  kind.requires_grad = t.requires_grad();
  kind.is_leaf = t.is_leaf();
  kind.wrapped_number = t.unsafeGetTensorImpl()->is_wrapped_number();
  kind.storage = storageOf(t);
  if (const Tensor* grad = gradOf(t)) kind.grad = std::make_unique<TensorKind>(kindOf(*grad));
  return kind;
}

uint64_t bitsOf(const double* scalar) { return std::bit_cast<uint64_t>(*scalar); }

constexpr uint64_t raw(DispatchKeySet keys) { return keys.functionalities().raw(); }

}  // namespace

Why whyNotOnThisThread() {
  constexpr uint64_t kUsual = detail::kDefaultIncluded;
  constexpr uint64_t kOfGuards = raw(kAutogradAndViewKeys) | raw(kAutocastKeys);
  const detail::LocalState& s = detail::tls_state;
  if ((s.included & ~kUsual) != 0) {
    const auto on = DispatchKeySet::fromRaw(s.included);
    if (on.has(Functionality::Tracer)) return Why::kTrace;
    if (on.has(Functionality::Batched)) return Why::kTransform;
    if (on.has(Functionality::Functionalize)) return Why::kFunctionalize;
    if (on.has(Functionality::Fake)) return Why::kFakeMode;
    return Why::kMode;
  }
  if ((s.user_excluded & ~(kOfGuards | detail::kDefaultExcluded)) != 0) return Why::kExcludedKeys;
  if ((s.mode & detail::kModeAnomaly) != 0) return Why::kAnomaly;
  if ((s.mode & detail::kModeSavedHooks) != 0) return Why::kSavedHooks;
  return Why::kNone;
}

Why whyNotWith(const Tensor& t, bool links_history) {
  if (!t.defined()) return Why::kNone;
  constexpr DispatchKeySet kWrappers =
      DispatchKeySet::of(Functionality::Python) | DispatchKeySet::of(Functionality::Functionalize) |
      DispatchKeySet::of(Functionality::Batched) | DispatchKeySet::of(Functionality::Tracer) |
      DispatchKeySet::of(Functionality::Fake) | DispatchKeySet::of(Functionality::TransformBack) |
      DispatchKeySet::of(Functionality::PythonKernel);
  if (t.key_set().hasAny(kWrappers)) return Why::kWrapper;
  // Steps that do without their operators know no kernels for other keys than these.
  const DispatchKeySet keys = DispatchKeySet::fromRaw(keysThatMatter(t));
  if (keys.functionalities() != DispatchKeySet::of(Functionality::Dense)) return Why::kOtherKeys;
  const auto* meta = autograd::get_autograd_meta(t);
  if (links_history || meta == nullptr || !meta->requires_grad()) return Why::kNone;
  if (!t.is_leaf()) return Why::kOutsideHistory;
  const auto accumulator = meta->grad_accumulator_.lock();
  const bool hooked = meta->hooks_ != nullptr || (accumulator.defined() && accumulator->hooks() != nullptr);
  return hooked ? Why::kHooks : Why::kNone;
}

const char* TensorKind::difference(const Tensor& t, bool links_history) const {
  const TensorImpl& impl = *t.unsafeGetTensorImpl();
  if (impl.dtype() != dtype) return "dtype";
  if (!isSame(impl.sizes(), sizes)) return "sizes";
  if (!isSame(impl.strides(), strides)) return "strides";
  if (impl.key_set() != keys || impl.device() != device) return "keys";
  if (impl.is_wrapped_number() != wrapped_number) return "number";
  if (autograd::get_autograd_meta(t) == nullptr) return requires_grad || !is_leaf ? "gradient" : nullptr;
  if (t.requires_grad() != requires_grad || t.is_leaf() != is_leaf) return "gradient";
  return requires_grad && whyNotWith(t, links_history) != Why::kNone ? "hooks" : nullptr;
}

Guard::Guard(const detail::CompileArguments& arguments, const CompileOptions& options)
    : options_(options),
      types_(arguments.types),
      numbers_(arguments.numbers.begin(), arguments.numbers.end()),
      modes_(Graph::Modes::now()),
      default_dtype_(get_default_dtype()),
      flat_(std::make_unique<FlatGuard>()) {
  for (const double* s : options.scalars) scalars_.push_back(bitsOf(s));
  for (size_t i = 0; i < arguments.tensors.size(); ++i) addKind(arguments, i);
  std::vector<Tensor> named;
  for (const Tensor* t : options.captures) named.push_back(*t);
  add(arguments, named, false);
}

Guard::~Guard() = default;

void Guard::add(const detail::CompileArguments& arguments, const std::vector<Tensor>& captured, bool offsets) {
  offsets_ = offsets;
  for (const Tensor& t : captured) {
    captured_.push_back(t);
    addKind(arguments, tensors_.size());
  }
  only_tensors_ = numbers_.empty() && scalars_.empty() && options_.captures.empty();
  flat_->make(arguments, tensors_, captured_, modes_, offsets_);
}

void Guard::addKind(const detail::CompileArguments& arguments, size_t i) {
  const Tensor& t = tensor(arguments, i);
  TensorKind kind = kindOf(t);
  kind.same = kind.home = i;
  for (size_t j = i; kind.defined && j-- > 0;) {
    const Tensor& other = tensor(arguments, j);
    if (other.is_same(t)) kind.same = j;
    if (sharesStorage(other, t)) kind.home = j;
  }
  tensors_.push_back(std::move(kind));
}

/// The first thing in which the call differs but its tensors and modes; null: none.
const char* Guard::differenceOfCall(const detail::CompileArguments& arguments) const {
  if (arguments.types != types_ && *arguments.types != *types_) return "types";
  if (arguments.tensors.size() + captured_.size() != tensors_.size()) return "types";
  if (!std::ranges::equal(arguments.numbers, numbers_)) return "numbers";
  if (!std::ranges::equal(options_.scalars, scalars_, {}, bitsOf)) return "scalars";
  for (size_t i = 0; i < options_.captures.size(); ++i)
    if (!options_.captures[i]->is_same(captured_[i])) return "captured variables";
  return get_default_dtype() != default_dtype_ ? "default dtype" : nullptr;
}

/// `found(what, i)` is told of the first difference: of tensor i, or of the call.
template <class Found>
bool Guard::compare(const detail::CompileArguments& arguments, Found&& found) const {
  constexpr size_t kCall = ~size_t{0};
  if (const char* what = differenceOfCall(arguments)) return found(what, kCall), false;
  const size_t given = arguments.tensors.size();
  InlineVector<const StorageImpl*, 8> storages;  // of the arguments
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const TensorKind& kind = tensors_[i];
    const Tensor& t = tensor(arguments, i);
    if (t.defined() != kind.defined) return found("being defined", i), false;
    if (!kind.defined) {
      if (i < given) storages.push_back(nullptr);
      continue;
    }
    if (const char* what = kind.difference(t, links_history_ && i < given)) return found(what, i), false;
    if (offsets_ && t.storage_offset() != kind.offset) return found("offset", i), false;
    const Tensor* grad = gradOf(t);
    if ((grad != nullptr) != (kind.grad != nullptr)) return found("having a grad", i), false;
    if (grad != nullptr) {
      if (const char* what = kind.grad->difference(*grad, false)) return found(what, i), false;
      if (mayShareMemory(arguments, i)) return found("a grad that shares memory", i), false;
    }
    const StorageImpl* const mine = storageOf(t);
    // Captured tensors are the same ones as ever, and while their storages are, they share what they shared.
    if (i >= given && mine != kind.storage) return found("storage", i), false;
    for (size_t j = 0; j < std::min(i, given); ++j) {
      const TensorKind& its = tensors_[j];
      if (!its.defined) continue;
      const bool shares = mine != nullptr && mine == storages[j];
      if (shares != (its.home == kind.home)) return found("sharing memory", i), false;
      // Tensors of two storages are two.
      if ((shares || mine == nullptr) && arguments.tensors[j]->is_same(t) != (its.same == kind.same))
        return found("being another argument", i), false;
    }
    if (i < given) storages.push_back(mine);
  }
  if (!trace_detail::areOn(modes_)) return found("grad mode, inference mode or autocast", kCall), false;
  return true;
}

/// Whether the grad of tensor i lies in the memory of another tensor, or of another's grad.
bool Guard::mayShareMemory(const detail::CompileArguments& arguments, size_t i) const {
  const Tensor& grad = *gradOf(tensor(arguments, i));
  // An argument may be this very handle, which the graph could take away from under it; it isn't counted then.
  if (std::ranges::any_of(arguments.tensors, [&](const Tensor* t) { return t->is_same(grad); })) return true;
  if (storageOf(grad) == nullptr) return false;
  if (grad.getIntrusivePtr().unique() && grad.storage().unique()) return false;  // nobody else has it
  for (size_t j = 0; j < tensors_.size(); ++j) {
    const Tensor& t = tensor(arguments, j);
    if (!t.defined()) continue;
    if (sharesStorage(t, grad)) return true;
    const bool is_other = j != i && tensors_[j].same != tensors_[i].same;
    if (const Tensor* other = gradOf(t); is_other && other != nullptr && sharesStorage(*other, grad)) return true;
  }
  return false;
}

bool Guard::holdsByWords(const detail::CompileArguments& arguments) const {
  const bool only_tensors = only_tensors_ && arguments.types == types_ && arguments.numbers.empty();
  if (only_tensors ? get_default_dtype() != default_dtype_ : differenceOfCall(arguments) != nullptr) return false;
  return flat_->holds(arguments, captured_);
}

// Apart, as the room for what it compares would be made for calls whose words hold.
SHUNT_NOINLINE bool Guard::holdsInFull(const detail::CompileArguments& arguments) const {
  const bool held = compare(arguments, [](const char*, size_t) {});
  if (held && !held_in_full_.load(std::memory_order_relaxed)) held_in_full_.store(true, std::memory_order_relaxed);
  return held;
}

bool Guard::holds(const detail::CompileArguments& arguments) const {
  if (holdsByWords(arguments)) [[likely]]
    return true;
  return holdsInFull(arguments);
}

std::string Guard::difference(const detail::CompileArguments& arguments) const {
  std::string text;
  compare(arguments, [&](const char* what, size_t i) {
    text = i == ~size_t{0} ? what : detail::str(nameOfTensor(i), ": ", what);
  });
  return text;
}

}  // namespace shunt::compiled
