#include "src/compile/checks/stand_ins.h"

#include "src/autograd/storage_and_grad.h"
#include "src/compile/passes/aliases.h"
#include "src/compile/passes/history.h"

#include <shunt/autograd/variable_utils.h>
#include <shunt/ops.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace shunt::compiled {
namespace {

/// The end of what a tensor from outside has a history of. Never run.
struct Given final : Node {
  std::string name() const override { return "Given"; }
  autograd::variable_list apply(autograd::variable_list&&) override { return {}; }
};

/// The bytes as a tensor, which doesn't own them.
Tensor bytesOf(const StorageImpl& storage) {
  auto borrowed = make_intrusive<StorageImpl>(DataPtr{storage.data(), nullptr, nullptr}, storage.nbytes(),
                                              storage.device(), nullptr, false);
  auto impl = make_intrusive<TensorImpl>(std::move(borrowed), keySetFor(storage.device()), kByte);
  impl->set_sizes_contiguous(static_cast<int64_t>(storage.nbytes()));
  return Tensor(std::move(impl));
}

Storage copyOf(const StorageImpl& storage) {
  const Tensor copy(detail::makeTensor({static_cast<int64_t>(storage.nbytes())}, {}, kByte, storage.device()));
  StorageImpl& its = *copy.storage();
  if (storage.device().is_cpu()) {
    if (storage.nbytes() != 0) std::memcpy(its.data(), storage.data(), storage.nbytes());
  } else if (!storage.device().is_meta()) {
    const AutoDispatchBelowAutograd below;
    Tensor(copy).copy_(bytesOf(storage));
  }
  return copy.storage();
}

bool hasToDoWithGrads(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const Graph::Node* n) { return n->name().starts_with("trace::"); });
}

}  // namespace

StandIns::StandIns(const Graph& graph, std::span<const Tensor* const> inputs) : has_grads_(hasToDoWithGrads(graph)) {
  const Aliases aliases(graph);
  const auto note = [&](const Graph::Value* v, const Tensor& t) {
    if (aliases.isWritten(v)) written_.push_back(autograd::storageOf(t));
  };
  for (size_t i = 0; i < inputs.size(); ++i) note(graph.inputs()[i], *inputs[i]);
  for (const Graph::Value* v : graph.constants()) note(v, v->constant);
  for (const Tensor* t : inputs) add(*t);
  for (const Graph::Value* v : graph.constants()) add(v->constant);
}

void StandIns::add(const Tensor& t) {
  if (!at_.try_emplace(t.unsafeGetTensorImpl(), all_.size()).second) return;
  Tensor stand_in = like(t);
  const bool is_copy = std::ranges::find(written_, autograd::storageOf(t)) != written_.end();
  if (const Tensor* grad = autograd::gradOf(t); grad != nullptr && has_grads_) {
    written_.push_back(autograd::storageOf(*grad));
    autograd::materialize_autograd_meta(stand_in)->grad_ = like(*grad);
  }
  all_.push_back({t, std::move(stand_in), is_copy});
}

/// What isn't written is read where it is, by a storage of another version counter.
Storage StandIns::storageFor(const StorageImpl& of, bool copies) {
  Storage& storage = storages_[&of];
  if (!storage.defined()) {
    if (copies)
      storage = copyOf(of);
    else
      storage =
          make_intrusive<StorageImpl>(DataPtr{of.data(), nullptr, nullptr}, of.nbytes(), of.device(), nullptr, false);
  }
  return storage;
}

Tensor StandIns::like(const Tensor& t) {
  const TensorImpl& impl = *t.unsafeGetTensorImpl();
  SHUNT_CHECK(impl.has_storage(), "a tensor without a storage");
  const StorageImpl& real = *impl.storage();
  const bool is_written = std::ranges::find(written_, &real) != written_.end();
  Tensor out(make_intrusive<TensorImpl>(storageFor(real, is_written), impl.key_set(), impl.dtype()));
  TensorImpl& its = *out.unsafeGetTensorImpl();
  its.set_sizes_and_strides(impl.sizes(), impl.strides(), impl.storage_offset());
  its.set_wrapped_number(impl.is_wrapped_number());
  if (impl.has_own_version_counter()) {
    const auto [first, is_new] = counters_.try_emplace(&impl.version(), out);
    if (is_new)
      its.use_own_version_counter();
    else
      its.share_version_counter_of(*first->second.unsafeGetTensorImpl());
  }
  its.version().set(impl.version().current());
  if (t.requires_grad() && t.is_leaf())
    out.set_requires_grad(true);
  else if (t.requires_grad())
    autograd::set_history(out, intrusive_ptr<Node>(make_intrusive<Given>()));
  return out;
}

}  // namespace shunt::compiled
