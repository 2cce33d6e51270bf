// See Note [Functional tensors].
#include "src/transforms/functionalize/functional_tensor.h"

#include "src/autograd/plain_grad.h"
#include "src/transforms/fake/fake_impl.h"
#include "src/transforms/functionalize/forms.h"
#include "src/transforms/vmap/levels.h"

#include <shunt/autograd/graph_tensor.h>
#include <shunt/autograd/variable_utils.h>
#include <shunt/core/dispatcher.h>
#include <shunt/ops.h>

namespace shunt::functional {
namespace {

DispatchKeySet wrapperKeys(const Tensor& value) {
  constexpr DispatchKeySet kKeys{DispatchKey::Functionalize};
  return value.is_inference() ? kKeys : kKeys.add(DispatchKey::ADInplaceOrView);
}

Tensor callOne(const OperatorHandle& op, Stack stack) {
  callBelow(op, stack);
  return stack.back().toTensor();
}

int64_t elementsOfStorage(const Tensor& t) { return static_cast<int64_t>(storageBytes(t)) / t.itemsize(); }

/// `into` with `part` where a tensor of the geometry of `view` lies in its storage.
Tensor scatter(const Tensor& into, const Tensor& part, const Tensor& view) {
  static const auto op = Dispatcher::singleton().findSchemaOrThrow("aten::as_strided_scatter", "");
  if (repeatsElements(view)) {  // of what is written to one place, the last stays
    Tensor last = part, place = view;
    for (int64_t d = 0; d < view.dim(); ++d)
      if (view.stride(d) == 0 && view.size(d) > 1)
        last = last.narrow(d, view.size(d) - 1, 1), place = place.narrow(d, 0, 1);
    return scatter(into, last, place);
  }
  if (!repeatsElements(into)) return callOne(op, {into, part, view.sizes(), view.strides(), view.storage_offset()});
  // The copy of an expanded tensor would not be expanded: of its storage, then.
  const Tensor flat = into.as_strided({elementsOfStorage(into)}, {1}, 0);
  return scatter(flat, part, view).as_strided(into.sizes(), into.strides(), into.storage_offset());
}

/// The same for one link, by its own inverse where it has one.
Tensor scatter(const Tensor& into, const Tensor& part, const Tensor& view, const Link& link) {
  const std::optional<OperatorHandle> inverse = scatterOf(link.op);
  if (!inverse || repeatsElements(into) || repeatsElements(view)) return scatter(into, part, view);
  Stack stack = link.args;
  stack[link.self] = into;
  stack.insert(stack.begin() + static_cast<ptrdiff_t>(link.self) + 1, part);
  return callOne(*inverse, std::move(stack));
}

/// A wrapper's graph is that of the tensor inside.
void setEdge(const Tensor& t, autograd::Edge edge) {
  autograd::set_gradient_edge(autograd::graph_tensor(t), std::move(edge));
}

/// What tells whether `t` is a view. Inside vmap that is the value of which it shows samples.
const Tensor& withGraph(const Tensor& t) {
  const Tensor& graph = autograd::graph_tensor(t);
  const bool batched = levels::isWrapper(graph) && !graph.key_set().has(Functionality::TransformBack);
  return batched ? withGraph(levels::storageOf(graph).value) : graph;
}

bool keepsGrad(const Tensor& t) {
  const autograd::AutogradMeta* meta = autograd::get_autograd_meta(autograd::graph_tensor(t));
  return meta != nullptr && meta->retains_grad_;
}

/// Also where only the batch behind the samples does.
bool isRecorded(const Tensor& t) { return t.requires_grad() || autograd::hidesGraph(t); }

/// `next`, a value of the innermost level as `old` is, with the places that the values behind `old` have in the graphs
/// of levels further out, where all that wrote it was detached.
Tensor withPlacesFurtherOut(const Tensor& old, Tensor next);

/// `next` with the place that `old` has in its graph: the one of its level, or of all levels.
Tensor inPlaceOf(const Tensor& old, Tensor next, bool in_all) {
  const Tensor& graph = autograd::graph_tensor(old);
  if (!levels::isWrapper(graph) || graph.key_set().has(Functionality::TransformBack)) {
    if (in_all) next = withPlacesFurtherOut(old, std::move(next));
    if (!old.requires_grad()) return next;
    next = detachedAlias(next);
    setEdge(next, autograd::gradient_edge(old));
    return next;
  }
  if (!in_all && !autograd::hidesGraph(graph)) return next;
  // Of a batch the values have the graph.
  const levels::LevelFrame* frame = levels::innermost();
  SHUNT_CHECK(
      frame != nullptr && levels::belongsTo(old, frame->level()) && levels::belongsTo(next, frame->level()),
      "functionalize inside vmap: what is written without grad mode, or through a detached alias, to a tensor of "
      "shape ",
      old.sizes(),
      " has another batch than the tensor: write it with grad mode on, or call functionalize "
      "outside of vmap");
  const levels::WrapperStorage &now = levels::storageOf(old), &then = levels::storageOf(next);
  const int64_t dim = now.batch_dim;
  Tensor value;
  {
    const levels::Outside outside;
    std::vector<int64_t> order;
    for (int64_t d = 0; d < then.value.dim(); ++d)
      if (d != then.batch_dim) order.push_back(d);
    order.insert(order.begin() + dim, then.batch_dim);
    value = inPlaceOf(now.value, then.value.permute(order), in_all);
  }
  return levels::makeBatched(frame->level(), std::move(value), dim);
}

Tensor withPlacesFurtherOut(const Tensor& old, Tensor next) {
  const levels::LevelFrame* frame = levels::innermost();
  if (frame == nullptr || !levels::belongsTo(old, frame->level()) || !levels::belongsTo(next, frame->level()))
    return next;
  Tensor value;
  {
    const levels::Outside outside;
    value = inPlaceOf(levels::storageOf(old).value, levels::storageOf(next).value, true);
  }
  return value.is_same(levels::storageOf(next).value) ? next : levels::makeTracked(frame->level(), std::move(value));
}

}  // namespace

bool repeatsElements(IntArrayRef sizes, IntArrayRef strides) {
  for (size_t d = 0; d < sizes.size(); ++d)
    if (sizes[d] > 1 && strides[d] == 0) return true;
  return false;
}

size_t storageBytes(const Tensor& value) {
  const Tensor& inner = levels::inMemory(value);
  const TensorImpl& outer = *value.unsafeGetTensorImpl();
  if (!isWrapper(inner) && inner.dtype() == value.dtype() && sameGeometry(*inner.unsafeGetTensorImpl(), outer))
    return inner.storage()->nbytes();
  const int64_t bytes = detail::storageBytes("to_functional", outer.sizes(), outer.strides(), value.itemsize());
  return static_cast<size_t>(bytes == 0 ? 0 : bytes + outer.storage_offset() * value.itemsize());
}

bool sharesMemory(const Tensor& a, const Tensor& b) {
  if (!a.unsafeGetTensorImpl()->has_storage() || !b.unsafeGetTensorImpl()->has_storage()) return false;
  const auto wraps = [](const Tensor& t) { return isWrapper(t) || levels::isWrapper(t); };
  return a.is_alias_of(b) || ((wraps(a) || wraps(b)) && levels::inMemory(a).is_alias_of(levels::inMemory(b)));
}

Tensor detachedAlias(const Tensor& value) {
  return isWrapper(value) ? value.detach() : autograd::detached_alias(value);
}

Tensor Link::apply(const Tensor& t) const {
  const AutoGradMode grad(grad_mode);
  Stack stack = args;
  stack[self] = t;
  callBelow(op, stack);
  const IValue& result = stack.back();
  return result.isTensorList() ? result.toTensorVector().at(output)
                               : stack[stack.size() - op.schema().returns().size() + output].toTensor();
}

Link stridedLink(IntArrayRef sizes, IntArrayRef strides, int64_t offset) {
  static const auto op = Dispatcher::singleton().findSchemaOrThrow("aten::as_strided", "");
  return {op, {IValue(), sizes, strides, offset}, 0, 0, GradMode::is_enabled(), false};
}

// ---- Base ---------------------------------------------------------------------------------------------------------
Base::Base(Tensor value)
    : value_(std::move(value)),
      storage_(fake::makeStorage(storageBytes(value_), value_.device())),
      level_(levels::innermostNumber()) {}

void Base::release_resources() {
  value_.reset();
  leaf_.reset();
}

// A tensor that is no leaf of its own: its gradient is the leaf's.
Tensor Base::atLeaf(Tensor value) const {
  if (!leaf_.defined() || !leaf_.requires_grad()) return value;
  value = detachedAlias(value);
  setEdge(value, autograd::Edge(autograd::grad_accumulator(leaf_), 0));
  return value;
}

void Base::reshapeLeaf(const TensorImpl& shape) {
  const NoGradGuard no_grad;
  if (levels::isWrapper(value_)) {
    // Its storage is that of all its aliases, and has the shape.
    SHUNT_CHECK(
        !value_.is_leaf() || !value_.requires_grad(), "functionalize inside grad: an argument of shape ",
        value_.sizes(),
        " that is differentiated is given another shape without grad mode; use the operator that returns a view");
    return;
  }
  if (!leaf_.defined()) {
    if (!value_.is_leaf() || !value_.is_floating_point() || value_.is_inference()) return;
    leaf_ = value_;
    value_ = detachedAlias(value_);
    // One that requires grad has to be the user's own, whose grad and hooks are known to others; another may require
    // grad later.
    if (!leaf_.requires_grad()) {
      leaf_ = detachedAlias(leaf_);
      autograd::graph_tensor(leaf_).unsafeGetTensorImpl()->use_own_version_counter();
    }
  }
  leaf_.as_strided_(shape.sizes(), shape.strides(), shape.storage_offset());
  if (!leaf_.requires_grad()) return;
  {
    // The accumulator remembers the old shape.
    autograd::AutogradMeta& meta = *autograd::get_autograd_meta(autograd::graph_tensor(leaf_));
    const std::lock_guard lock(meta.mutex_);
    meta.grad_accumulator_.reset();
  }
  value_ = atLeaf(value_);
}

void Base::beRivalOf(Base& other) {
  if (writer_ == nullptr) writer_ = other.writer_ != nullptr ? other.writer_ : std::make_shared<const Base*>(nullptr);
  other.writer_ = writer_;
}

const Tensor& Base::value() {
  SHUNT_CHECK(isUsable(), "functionalize: an argument of shape ", value_.sizes(), " and dtype ", value_.dtype(),
              " shares memory with another argument that was written meanwhile, but that one has another dtype, graph "
              "or class, or another batch of vmap, so "
              "what it shows now is not known. Give the function one of them and make the other of it inside");
  if (leaf_.defined() && value_.requires_grad() != leaf_.requires_grad()) {  // requires_grad_() was called since
    value_ = atLeaf(leaf_.requires_grad() ? value_ : detachedAlias(value_));
    ++generation_;
  }
  return value_;
}

void Base::replace(Tensor next, bool detached) {
  const Tensor& old = value();
  const bool batched = levels::isWrapper(old) && !old.key_set().has(Functionality::TransformBack);
  if (detached && !batched) next = withPlacesFurtherOut(old, std::move(next));
  if (batched && !GradMode::is_enabled() && (detached || autograd::hidesGraph(old))) {
    next = inPlaceOf(old, std::move(next), detached);
  } else if (old.requires_grad() && !GradMode::is_enabled()) {
    if (!leaf_.defined() && old.is_leaf()) leaf_ = old;
    next = leaf_.defined() ? atLeaf(std::move(next)) : inPlaceOf(old, std::move(next), false);
  } else if (leaf_.defined() && next.requires_grad()) {
    leaf_.reset();  // recorded: the tensor is no leaf any more
  }
  if (keepsGrad(old) && next.requires_grad() && !next.is_leaf()) next.retain_grad();
  fake::resizeStorage(*storage_, storageBytes(next));
  value_ = std::move(next);
  ++generation_;
  if (writer_ != nullptr) *writer_ = this;
}

// ---- FunctionalTensor ---------------------------------------------------------------------------------------------
FunctionalTensor::FunctionalTensor(intrusive_ptr<Base> base, std::vector<Link> chain, Tensor value)
    : TensorImpl(base->storage(), wrapperKeys(value), value.dtype()),
      base_(std::move(base)),
      chain_(std::move(chain)),
      value_(std::move(value)),
      generation_(base_->generation()) {
  set_wrapped_number(value_.unsafeGetTensorImpl()->is_wrapped_number());
  set_autograd_meta(std::make_unique<autograd::ForwardingMeta>(*this));
  while (itself_ < chain_.size() && chain_[itself_].in_place) ++itself_;
  followValue();
}

void FunctionalTensor::release_resources() {
  TensorImpl::release_resources();
  value_.reset();
  chain_.clear();
  base_.reset();
}

void FunctionalTensor::followValue() {
  set_sizes_and_strides(value_.sizes(), value_.strides(), value_.storage_offset());
}

bool FunctionalTensor::isDetached() const {
  if (isItself() || is_inference()) return false;
  const Tensor& base = withGraph(base_->value());
  const Tensor& now = withGraph(value());
  return now.is_floating_point() && base.is_floating_point() &&
         (!now.is_view() || !now._base().is_same(base.is_view() ? base._base() : base));
}

Tensor FunctionalTensor::upTo(size_t links) const {
  const ModeOff off;
  Tensor t = base_->value();
  for (size_t i = 0; i < links; ++i) {
    t = chain_[i].apply(t);
    if (i < itself_) t = base_->atLeaf(t);
  }
  return t;
}

const Tensor& FunctionalTensor::value() const {
  const Tensor& base = base_->value();
  if (chain_.empty()) return base;
  if (generation_ != base_->generation()) {
    value_ = upTo(chain_.size());
    generation_ = base_->generation();
  }
  return value_;
}

const Tensor* FunctionalTensor::graph_tensor() const {
  if (!base_.defined()) return nullptr;
  const Tensor& now = value();
  return isItself() && base_->leaf().defined() ? &base_->leaf() : &now;
}

void FunctionalTensor::append(Link link) {
  const ModeOff off;
  Tensor shown = link.apply(value());
  if (link.in_place && isItself()) {
    base_->reshapeLeaf(*shown.unsafeGetTensorImpl());
    shown = base_->atLeaf(shown);
    ++itself_;
  }
  chain_.push_back(std::move(link));
  value_ = std::move(shown);
  generation_ = base_->generation();
  followValue();
}

void FunctionalTensor::resize(IntArrayRef sizes, IntArrayRef strides, int64_t offset, int64_t nbytes) {
  const ModeOff off;
  const Tensor old = base_->value();
  if (nbytes > static_cast<int64_t>(storageBytes(old))) {
    // The old storage at the beginning of a larger one, and the base's value on that.
    const int64_t item = old.itemsize();
    const Tensor flat = old.as_strided({elementsOfStorage(old)}, {1}, 0);
    const Tensor larger = scatter(empty({(nbytes + item - 1) / item}, old.options()), flat, flat);
    base_->replace(larger.as_strided(old.sizes(), old.strides(), old.storage_offset()));
  }
  Link link = stridedLink(sizes, strides, offset);
  link.grad_mode = true;  // the tensor itself, whatever the thread's grad mode
  append(std::move(link));
}

void FunctionalTensor::rebase(intrusive_ptr<Base> base, std::vector<Link> chain) {
  base_ = std::move(base);
  chain_ = std::move(chain);
  itself_ = 0;
  generation_ = base_->generation();
  set_storage(base_->storage(), dtype());
}

// From the last link to the first. Links between two changes of dtype are undone at once.
void FunctionalTensor::write(const Tensor& value) {
  const ModeOff off;
  bool detached = isDetached();
  if (detached && isRecorded(value) && GradMode::is_enabled() &&
      base_.use_count() == 1) {  // nobody else has that memory
    rebase(make_intrusive<Base>(detachedAlias(this->value())), {});
    detached = false;
  }
  SHUNT_CHECK(!detached || !isRecorded(value) || !GradMode::is_enabled(),
              "Functionalize: what is written to a detached alias requires grad, but ",
              "the alias shares memory with tensors that are not to see the graph. Detach the operand too, or clone "
              "the alias first");
  // What is written through a detached alias is no part of the others' graph.
  const AutoGradMode grad(GradMode::is_enabled() && !detached);
  Tensor next = value;
  size_t end = chain_.size();
  Tensor view = this->value();
  while (true) {
    size_t begin = end;
    while (begin > 0 && !chain_[begin - 1].changes_dtype) --begin;
    const Tensor whole = upTo(begin);
    const bool fits = begin == end && sameGeometry(*next.unsafeGetTensorImpl(), *whole.unsafeGetTensorImpl()) &&
                      storageBytes(next) == storageBytes(whole);
    if (!fits) next = end - begin == 1 ? scatter(whole, next, view, chain_[begin]) : scatter(whole, next, view);
    // Inside vmap a rule may lay its result out anew.
    if (!fits && !sameGeometry(*next.unsafeGetTensorImpl(), *whole.unsafeGetTensorImpl()) && levels::isWrapper(next))
      next = scatter(whole, next, whole);
    if (begin == 0) break;
    end = begin - 1;
    view = upTo(end);
    next = next.view(view.dtype());
  }
  base_->replace(std::move(next), detached);
}

FunctionalTensor* functionalOf(const Tensor& t) {
  TensorImpl* impl = t.unsafeGetTensorImpl();
  if (impl == nullptr || !impl->key_set().has(Functionality::Functionalize)) return nullptr;
  auto* wrapper = dynamic_cast<FunctionalTensor*>(impl);
  SHUNT_CHECK(wrapper != nullptr,
              "a tensor with the key Functionalize that to_functional did not make; make one with to_functional(t)");
  return wrapper;
}

bool isFromFurtherOut(const FunctionalTensor& t) { return levels::isFurtherOut(t.base().level()); }

Tensor wrapValue(const Tensor& value) {
  return Tensor(make_intrusive<FunctionalTensor>(make_intrusive<Base>(value), std::vector<Link>(), value));
}

Tensor wrapView(const FunctionalTensor& of, Link link, const Tensor& value) {
  std::vector<Link> chain = of.chain();
  chain.push_back(std::move(link));
  return Tensor(make_intrusive<FunctionalTensor>(of.sharedBase(), std::move(chain), value));
}

}  // namespace shunt::functional
