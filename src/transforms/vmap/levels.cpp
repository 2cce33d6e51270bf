#include "src/transforms/vmap/levels.h"

#include "src/autograd/plain_grad.h"
#include "src/dispatch/reliance.h"
#include "src/tensor/item.h"
#include "src/tensor/printing.h"
#include "src/transforms/vmap/changes_outside.h"

#include <shunt/autograd/graph_tensor.h>

#include <shunt/core/inline_vector.h>

#include <algorithm>
#include <atomic>
#include <utility>

namespace shunt::levels {
namespace {

constinit thread_local const LevelFrame* current SHUNT_TLS_MODEL = nullptr;
constinit thread_local uint64_t backward_of SHUNT_TLS_MODEL = 0;  // of which level gradients are computed; 0: of none

constexpr uint64_t bits(DispatchKeySet keys) { return keys.functionalities().raw(); }

/// What levels themselves include.
constexpr uint64_t kLevelKey = bits(DispatchKeySet(DispatchKey::Batched));
/// What passes through all levels.
constexpr uint64_t kPassing = bits({DispatchKey::Python, DispatchKey::PythonKernel});
/// What is of the level that it was entered in, whatever kind that is.
constexpr uint64_t kFunctional = bits(DispatchKeySet(DispatchKey::Functionalize));
/// What acts on values only, so not inside a grad level, whose tracked tensors would be captured, or taken for real.
constexpr uint64_t kOfValues = bits({DispatchKey::Tracer, DispatchKey::Fake});

/// What is off, or on, in all levels where the function, or an operator, has switched it off or on.
constexpr uint64_t kSwitchedEverywhere = bits(kAutocastKeys) | kOfValues | kFunctional | kPassing;

constexpr uint64_t with(uint64_t set, uint64_t mask, uint64_t from) { return (set & ~mask) | (from & mask); }

/// A graph is recorded in the level whatever the thread's settings outside are: they hold outside.
void enterGrad(detail::LocalState& s) {
  s.included = (s.included | bits(DispatchKeySet(DispatchKey::ADInplaceOrView))) & ~kOfValues;
  s.user_excluded &= ~bits(kAutogradAndViewKeys);
  s.mode = (s.mode | detail::kModeGrad) & ~detail::kModeInference;
  detail::refreshExcluded(s);
}

DispatchKeySet wrapperKeys(const Tensor& value) {
  constexpr DispatchKeySet kKept = kAutocastKeys | DispatchKeySet::of(Functionality::ADInplaceOrView);
  const DispatchKeySet keys = value.key_set();
  return (keys & kKept).functionalities() | keys.backends() | DispatchKeySet::of(Functionality::Batched);
}

/// Of a wrapper of another class, which tells no backend, the keys by which Autocast casts what it stands for.
DispatchKeySet castingKeys(const Tensor& value) {
  if (!value.key_set().backends().empty()) [[likely]]
    return {};
  const BackendComponent backend = backendOf(value.device().type());
  const DispatchKey casts = autocastKeyOf(backend);
  return casts == DispatchKey::Undefined ? DispatchKeySet() : DispatchKeySet(casts);
}

/// Sizes and strides of one sample.
void showSample(TensorImpl& wrapper, const TensorImpl& value, int64_t batch_dim) {
  if (batch_dim == 0)
    return wrapper.set_sizes_and_strides(value.sizes().slice(1), value.strides().slice(1), value.storage_offset());
  InlineVector<int64_t, 6> sizes, strides;
  for (int64_t d = 0; d < value.dim(); ++d) {
    if (d == batch_dim) continue;
    sizes.push_back(value.sizes()[static_cast<size_t>(d)]);
    strides.push_back(value.strides()[static_cast<size_t>(d)]);
  }
  wrapper.set_sizes_and_strides(IntArrayRef(sizes.begin(), sizes.size()), IntArrayRef(strides.begin(), strides.size()),
                                value.storage_offset());
}

}  // namespace

LevelId LevelId::make(Kind kind) {
  constexpr uint64_t kBlock = 1 << 16;
  static constinit std::atomic<uint64_t> next_block{0};
  static constinit thread_local uint64_t next SHUNT_TLS_MODEL = 0;  // a multiple of kBlock: the thread's are used up
  if (next % kBlock == 0) next = next_block.fetch_add(kBlock, std::memory_order_relaxed) + 1;
  return {next++ << 1 | (kind == Kind::kGrad ? 1u : 0u)};
}

Settings Settings::now() {
  const detail::LocalState& s = detail::tls_state;
  Settings result{s.included, s.user_excluded, s.mode, s.autocast_nesting, {}};
  std::copy(std::begin(s.autocast_dtype), std::end(s.autocast_dtype), result.autocast_dtype.begin());
  return result;
}

void Settings::restore() const {
  detail::LocalState& s = detail::tls_state;
  s.included = included;
  s.user_excluded = user_excluded;
  s.mode = mode;
  s.autocast_nesting = autocast_nesting;
  std::copy(autocast_dtype.begin(), autocast_dtype.end(), std::begin(s.autocast_dtype));
  detail::refreshExcluded(s);
}

LevelFrame::LevelFrame(Level& level) : level_(level), outer_(current), saved_(Settings::now()) {
  detail::tls_state.included = (detail::tls_state.included | kLevelKey) & ~kFunctional;
  if (level_.kind == Kind::kGrad) enterGrad(detail::tls_state);
  current = this;
  if (detail::reliance != nullptr) [[unlikely]]
    relyOnBatchingRules();
}

LevelFrame::~LevelFrame() {
  current = outer_;
  saved_.restore();
}

const LevelFrame* innermost() { return current; }

uint64_t innermostNumber() { return current == nullptr ? 0 : current->level().id.number; }

bool isFurtherOut(uint64_t number) {
  if (current == nullptr || current->level().id.number == number) return false;
  const LevelFrame* frame = current->outer();
  while (frame != nullptr && frame->level().id.number != number) frame = frame->outer();
  return frame != nullptr || number == 0;
}

bool isFunctionalizedFurtherOut() {
  for (const LevelFrame* frame = current; frame != nullptr; frame = frame->outer())
    if ((frame->saved().included & kFunctional) != 0) return true;
  return false;
}

const Tensor& inMemory(const Tensor& t) {
  const Tensor* now = &autograd::graph_tensor(t);
  while (isWrapper(*now)) now = &autograd::graph_tensor(storageOf(*now).value);
  return *now;
}

bool isAround(const Tensor& t, const Level& level) {
  if (!autograd::isWrapped(t)) [[likely]]
    return false;
  const Tensor held = autograd::heldBy(t);
  return belongsTo(held, level) || isAround(held, level);
}

InBackward::InBackward(Level& level)
    : level_(level),
      before_(std::exchange(level.in_backward, true)),
      outer_(std::exchange(backward_of, level.id.number)) {}

InBackward::~InBackward() {
  level_.in_backward = before_;
  backward_of = outer_;
}

bool isBackwardFurtherIn() { return backward_of != 0 && backward_of != innermostNumber(); }

Outside::Outside() : left_(current) {
  detail::LocalState& s = detail::tls_state;
  const Settings& outside = left_->saved();
  if (left_->level().kind == Kind::kVmap) {
    inside_.included = s.included;
    s.included = with(s.included, kLevelKey | kFunctional, outside.included);
  } else {
    inside_ = Settings::now();
    outside.restore();
    s.included = with(outside.included, kPassing, inside_.included);
    passOn();
  }
  current = left_->outer();
}

void Outside::passOn() const {
  detail::LocalState& s = detail::tls_state;
  const uint64_t differ = (s.user_excluded ^ inside_.user_excluded) & kSwitchedEverywhere;
  if (differ == 0 && s.autocast_nesting == inside_.autocast_nesting &&
      ((s.mode ^ inside_.mode) & detail::kModeCastCache) == 0 &&
      std::equal(std::begin(s.autocast_dtype), std::end(s.autocast_dtype), inside_.autocast_dtype.begin())) [[likely]]
    return;
  s.user_excluded ^= differ;
  s.mode = with(s.mode, detail::kModeCastCache, inside_.mode);
  s.autocast_nesting = inside_.autocast_nesting;
  std::copy(inside_.autocast_dtype.begin(), inside_.autocast_dtype.end(), std::begin(s.autocast_dtype));
  detail::refreshExcluded(s);
}

Outside::~Outside() {
  current = left_;
  if (left_->level().kind == Kind::kVmap)
    detail::tls_state.included = inside_.included;
  else
    inside_.restore();
}

void WrapperStorage::release_resources() {
  StorageImpl::release_resources();
  value.reset();
}

Tensor makeBatched(const Level& level, Tensor value, int64_t batch_dim) {
  const DispatchKeySet keys = wrapperKeys(value);
  const ScalarType dtype = value.dtype();
  auto storage = make_intrusive<WrapperStorage>(level.id, std::move(value), batch_dim);
  const TensorImpl& shown = *storage->value.unsafeGetTensorImpl();
  auto impl = make_intrusive<TensorImpl>(std::move(storage), keys, dtype);
  showSample(*impl, shown, batch_dim);
  return Tensor(std::move(impl));
}

Tensor makeTracked(const Level& level, Tensor value) {
  const DispatchKeySet keys =
      (wrapperKeys(value) | castingKeys(value)).add(DispatchKey::TransformBack).add(DispatchKey::ADInplaceOrView);
  const ScalarType dtype = value.dtype();
  auto storage = make_intrusive<WrapperStorage>(level.id, std::move(value), -1);
  if (level.changes != nullptr) level.changes->add(storage);
  const TensorImpl& shown = *storage->value.unsafeGetTensorImpl();
  auto impl = make_intrusive<TensorImpl>(std::move(storage), keys, dtype);
  impl->set_sizes_and_strides(shown.sizes(), shown.strides(), shown.storage_offset());
  impl->set_wrapped_number(shown.is_wrapped_number());
  return Tensor(std::move(impl));
}

}  // namespace shunt::levels

bool shunt::autograd::hidesGraph(const Tensor& t) {
  if (!levels::isWrapper(t) || t.key_set().has(Functionality::TransformBack)) return false;
  const Tensor& value = levels::storageOf(t).value;
  return value.requires_grad() || hidesGraph(value);
}

void shunt::detail::markPicked(const Tensor& t) {
  if (!levels::isWrapper(t)) return;
  levels::WrapperStorage& storage = levels::storageOf(t);
  storage.is_pick = storage.level.kind() == levels::Kind::kVmap;
  markPicked(storage.value);
}

bool shunt::detail::showsSample(const Tensor& t) {
  if (!levels::isWrapper(t)) return false;
  const levels::WrapperStorage& storage = levels::storageOf(t);
  return storage.level.kind() == levels::Kind::kVmap || showsSample(storage.value);
}

const shunt::Tensor* shunt::detail::constantBehind(const Tensor& wrapper) {
  const levels::WrapperStorage& storage = levels::storageOf(wrapper);
  return storage.level.kind() == levels::Kind::kGrad && !wrapper.requires_grad() ? &storage.value : nullptr;
}

bool shunt::autograd::holdsFake(const Tensor& wrapper) {
  return isFake(graph_tensor(levels::storageOf(wrapper).value));
}

namespace shunt::levels {

void shareVersion(const Tensor& base, const Tensor& view) {
  if (!base.is_inference()) view.unsafeGetTensorImpl()->share_version_counter_of(*base.unsafeGetTensorImpl());
}

void followValue(const Tensor& wrapper) {
  const WrapperStorage& storage = storageOf(wrapper);
  TensorImpl& impl = *wrapper.unsafeGetTensorImpl();
  const TensorImpl& value = *storage.value.unsafeGetTensorImpl();
  if (storage.batch_dim < 0)
    impl.set_sizes_and_strides(value.sizes(), value.strides(), value.storage_offset());
  else
    showSample(impl, value, storage.batch_dim);
}

}  // namespace shunt::levels
