#include "src/transforms/functionalize/inputs.h"

#include "src/transforms/vmap/levels.h"

#include <shunt/autograd/accumulate_grad.h>
#include <shunt/autograd/graph_tensor.h>
#include <shunt/core/dispatcher.h>
#include <shunt/core/log.h>
#include <shunt/ops.h>
#include <shunt/tensor/memory_overlap.h>

namespace shunt {

using functional::FunctionalTensor;
using functional::isWrapper;
using functional::Link;

namespace {

/// What `t` is a view of, as far as graphs go, or `t`.
const Tensor& familyOf(const Tensor& t) { return !isWrapper(t) && t.is_view() ? t._base() : t; }

bool isBatched(const Tensor& t) { return levels::isWrapper(t) && !t.key_set().has(Functionality::TransformBack); }

/// Whether only a program without grad mode may have written to it.
bool isOfLeaf(const Tensor& t) {
  const Tensor& family = familyOf(t);
  return family.requires_grad() && family.is_leaf();
}

std::vector<Link> linksFrom(const Tensor& root, const Tensor& t) {
  if (t.is_same(root)) return {};
  std::vector<Link> links;
  const bool detached = !isWrapper(t) && !familyOf(t).is_same(familyOf(root));
  if (!detached || !functional::sameGeometry(*t.unsafeGetTensorImpl(), *root.unsafeGetTensorImpl())) {
    const auto* view = autograd::get_view_autograd_meta(t);
    links.push_back(functional::stridedLink(t.sizes(), t.strides(), t.storage_offset()));
    links.back().grad_mode = view == nullptr || view->creation_meta_ != autograd::CreationMeta::kNoGradMode;
  }
  static const auto detach = Dispatcher::singleton().findSchemaOrThrow("aten::detach", "");
  if (detached) links.push_back({detach, {IValue()}, 0, 0, true, false});
  return links;
}

/// Elements from the first to behind the last.
int64_t span(const Tensor& t) {
  int64_t n = 1;
  for (int64_t d = 0; d < t.dim(); ++d) n += (t.size(d) - 1) * t.stride(d);
  return t.numel() == 0 ? 0 : n;
}

bool covers(const Tensor& whole, const Tensor& part) {
  return whole.is_non_overlapping_and_dense() && whole.dtype() == part.dtype() &&
         part.storage_offset() >= whole.storage_offset() &&
         part.storage_offset() + span(part) <= whole.storage_offset() + whole.numel();
}

/// copy_ refuses to write to those.
bool overlapsItself(const Tensor& t) { return internal_overlap(t.sizes(), t.strides()) != MemoryOverlap::kNone; }

void copyInto(const Tensor& plain, const Tensor& value) {
  std::optional<InferenceMode> inference;  // the function had its own when it wrote to the tensor
  if (plain.is_inference()) inference.emplace();
  if (!overlapsItself(plain)) return (void)plain.copy_(value);
  // The value lies in its storage as the tensor in its own: all of that, then.
  const auto whole = [](const Tensor& t) {
    return t.as_strided({static_cast<int64_t>(functional::storageBytes(t)) / t.itemsize()}, {1}, 0);
  };
  whole(plain).copy_(whole(value));
}

/// `plain` takes the place of a leaf that stood for it: graphs that lead there lead here.
void becomeLeaf(const Tensor& plain, const Tensor& leaf) {
  plain.requires_grad_();
  const Tensor& graph = autograd::graph_tensor(plain);
  autograd::AutogradMeta& to = *autograd::materialize_autograd_meta(graph);
  autograd::AutogradMeta& from = *autograd::get_autograd_meta(autograd::graph_tensor(leaf));
  if (from.grad_.defined()) to.grad_ = to.grad_.defined() ? to.grad_.add(from.grad_) : from.grad_;
  if (from.hooks_) to.hooks_ = from.hooks_;
  const std::scoped_lock lock(to.mutex_, from.mutex_);
  const intrusive_ptr<Node> node = from.grad_accumulator_.lock();
  if (!node) return;
  static_cast<autograd::AccumulateGrad&>(*node).variable = graph;
  from.grad_accumulator_.reset();
  if (!to.grad_accumulator_.lock()) to.grad_accumulator_ = weak_intrusive_ptr<Node>(node);
}

}  // namespace

// ---- in -----------------------------------------------------------------------------------------------------------
Tensor detail::FunctionalizeCall::Inputs::wrap(const Tensor& t) {
  if (nested) return t;
  if (const Input* known = inputOf(t)) return known->functional;
  SHUNT_CHECK(!is_functional(t),
              "functionalize: an argument is a functional tensor already, but no FunctionalizeGuard is "
              "active; give the function its plain tensor, or call it within the guard");
  const functional::ModeOff off;
  const size_t group = groupFor(t);
  std::vector<Link> links = linksFrom(groups_[group].root, t);
  const size_t n = links.size();
  const Tensor functional(make_intrusive<FunctionalTensor>(groups_[group].base, std::move(links), t));
  inputs_.push_back({t, functional, group, n, autograd::TensorGeometry(t)});
  return functional;
}

size_t detail::FunctionalizeCall::Inputs::groupFor(const Tensor& t) {
  std::optional<size_t> found;
  std::vector<size_t> rivals;
  for (size_t i = 0; i < groups_.size(); ++i) {
    if (!functional::sharesMemory(groups_[i].root, t)) continue;
    if (!found && joins(i, t))
      found = i;
    else
      rivals.push_back(i);
  }
  if (!found) {
    found = groups_.size();
    groups_.push_back({t, make_intrusive<functional::Base>(t)});
    groups_.back().base->setInput();
  }
  for (const size_t i : rivals) groups_[*found].base->beRivalOf(*groups_[i].base);
  return *found;
}

bool detail::FunctionalizeCall::Inputs::joins(size_t group, const Tensor& t) {
  const Tensor root = groups_[group].root;
  if (root.dtype() != t.dtype()) return false;
  if (isWrapper(root) || isWrapper(t)) return root.is_alias_of(t);
  // The samples of two batches may lie in one memory in any way.
  if (isBatched(root) || isBatched(t)) return root.is_alias_of(t);
  const Tensor& family = familyOf(t);
  if (!family.is_same(familyOf(root))) {
    if (!t.requires_grad()) return true;  // whatever graph there is doesn't see it
    if (requiresGrad(group) || family.dtype() != root.dtype()) return false;
    reroot(group, family);
  } else if (!root.is_same(family) && family.dtype() == root.dtype()) {
    reroot(group, family);
  }
  return true;
}

bool detail::FunctionalizeCall::Inputs::requiresGrad(size_t group) const {
  for (const Input& input : inputs_)
    if (input.group == group && input.plain.requires_grad()) return true;
  return groups_[group].root.requires_grad();
}

void detail::FunctionalizeCall::Inputs::reroot(size_t group, const Tensor& root) {
  auto base = make_intrusive<functional::Base>(root);
  base->setInput();
  base->beRivalOf(*groups_[group].base);
  groups_[group] = {root, std::move(base)};
  for (Input& input : inputs_) {
    if (input.group != group) continue;
    std::vector<Link> links = linksFrom(root, input.plain);
    input.links = links.size();
    input.now().rebase(groups_[group].base, std::move(links));
  }
}

const detail::FunctionalizeCall::Inputs::Input* detail::FunctionalizeCall::Inputs::inputOf(const Tensor& plain) const {
  for (const Input& input : inputs_)
    if (input.plain.is_same(plain)) return &input;
  return nullptr;
}

// ---- out ----------------------------------------------------------------------------------------------------------
void detail::FunctionalizeCall::Inputs::writeBack() {
  const functional::ModeOff off;
  written = true;
  for (const Input& input : inputs_)
    if (input.plain.is_same(groups_[input.group].root)) writeBack(input);
  for (const Input& input : inputs_)
    if (!input.plain.is_same(groups_[input.group].root)) writeBack(input);
  for (const Input& input : inputs_) unwrapGrad(input);
}

void detail::FunctionalizeCall::Inputs::writeBack(const Input& input) const {
  const Tensor& plain = input.plain;
  const FunctionalTensor& now = input.now();
  // An input's own links come of in-place view operators.
  for (size_t i = input.links; i < now.chain().size(); ++i)
    if (now.chain()[i].op.operator_name().name == "aten::detach") plain.detach_();
  // What was changed under no_grad is no part of the graph.
  const AutoGradMode grad(GradMode::is_enabled() && !isOfLeaf(plain));
  if (!functional::sameGeometry(*plain.unsafeGetTensorImpl(), now)) {
    if (now.base().storage()->nbytes() > functional::storageBytes(plain)) plain.resize_(now.sizes());
    plain.as_strided_(now.sizes(), now.strides(), now.storage_offset());
  }
  // A rival's write is in the memory already. So is a view's root, where that is an argument.
  const Tensor& root = groups_[input.group].root;
  const bool done = !plain.is_same(root) && inputOf(root) != nullptr && covers(root, plain);
  const Tensor& leaf = now.base().leaf();
  Tensor new_leaf = now.isItself() && leaf.defined() && leaf.requires_grad() && !leaf.is_same(plain) ? leaf : Tensor();
  if (now.base().generation() != 0 && now.base().isUsable() && !plain.is_same(now.value()) && !done) {
    const Tensor& value = now.value();
    const bool is_leaf =
        now.isItself() && !leaf.defined() && !plain.requires_grad() && value.requires_grad() && value.is_leaf();
    if (is_leaf) new_leaf = value;
    const AutoGradMode recorded(GradMode::is_enabled() && !new_leaf.defined());
    copyInto(plain, value);
  }
  // It had no graph when it was changed, so another tensor was its leaf.
  if (new_leaf.defined()) becomeLeaf(plain, new_leaf);
}

Tensor detail::FunctionalizeCall::Inputs::unwrap(const Tensor& t) const {
  if (nested) return t;
  for (const Input& input : inputs_)
    if (input.functional.is_same(t)) return input.plain;
  const functional::ModeOff off;
  const FunctionalTensor& result = *functional::functionalOf(t);
  for (const Group& group : groups_) {
    if (group.base.get() != &result.base()) continue;
    // The root's own in-place links are in its shape already, and in the result's chain too.
    const Input* own = inputOf(group.root);
    if (own != nullptr && !own->now().chain().empty())
      return group.root.as_strided(result.sizes(), result.strides(), result.storage_offset());
    Tensor view = group.root;
    for (const Link& link : result.chain()) view = link.apply(view);
    return view;
  }
  return result.value();
}

void detail::FunctionalizeCall::Inputs::restore() const {
  const functional::ModeOff off;
  const NoGradGuard no_grad;
  const auto attempt = [](auto&& work) {
    try {
      work();
    } catch (const std::exception& e) {
      logWarning(
          str("functionalize: an argument isn't again what it was before the function, which threw: ", e.what()));
    }
  };
  for (const Input& input : inputs_) {
    attempt([&] { unwrapGrad(input); });
    const auto& before = input.geometry;
    if (input.plain.sizes() == IntArrayRef(before.sizes) && input.plain.strides() == IntArrayRef(before.strides))
      continue;
    attempt([&] { input.plain.as_strided_(before.sizes, before.strides, before.storage_offset); });
  }
}

void detail::FunctionalizeCall::Inputs::unwrapGrad(const Input& input) {
  const ExcludeDispatchKeyGuard no_trace(DispatchKey::Tracer);  // not the program's reads
  if (!is_functional(input.plain.grad())) return;
  const Tensor grad = std::exchange(input.plain.mutable_grad(), Tensor());
  input.plain.mutable_grad() = from_functional(grad);
}

}  // namespace shunt
