#include "src/trace/recording.h"

#include <shunt/autograd/autograd_meta.h>
#include <shunt/autograd/graph_tensor.h>
#include <shunt/core/dispatcher.h>

#include "src/autograd/storage_and_grad.h"
#include "src/trace/call_site.h"
#include "src/trace/traced_tensor.h"
#include "src/transforms/fake/fake_impl.h"

#include <algorithm>

namespace shunt::detail {

using autograd::storageOf;
using trace_detail::tracedOf;
using trace_detail::TracedTensor;
using trace_detail::TracerOff;

namespace {

constinit thread_local Recording* current SHUNT_TLS_MODEL = nullptr;

bool sameGeometry(const Graph::Spec& spec, const Tensor& t) {
  return spec.dtype == t.dtype() && t.sizes() == IntArrayRef(spec.sizes) && t.strides() == IntArrayRef(spec.strides) &&
         spec.offset == t.storage_offset();
}

}  // namespace

Recording* currentRecording() { return current; }
void setCurrentRecording(Recording* recording) {
  current = recording;
  setActiveTrace(recording);
  reliance = recording;
}

// ---- tensors and values -------------------------------------------------------------------------------------------
void Recording::know(const Tensor& t, Graph::Value* value, Tensor inner) {
  const TensorImpl* impl = t.unsafeGetTensorImpl();
  known_.insert_or_assign(impl, Known{weak_intrusive_ptr<TensorImpl>(t.getIntrusivePtr()), value, std::move(inner)});
  if (!impl->has_storage()) return;
  Family& family = families_[storageOf(t)];
  if (family.storage.expired()) family = {weak_intrusive_ptr<StorageImpl>(t.storage()), {}};
  const std::pair entry(value, historyOf(t));
  if (family.values.empty() || family.values.back() != entry) family.values.push_back(entry);
}

Recording::History Recording::historyOf(const Tensor& t) {
  const autograd::AutogradMeta* meta = autograd::get_autograd_meta(autograd::graph_tensor(t));
  if (meta == nullptr || !meta->grad_fn_.defined()) return {};
  return {meta->grad_fn_.get(), meta->grad_fn_->sequence_nr(), meta->output_nr_};
}

Storage Recording::wrapperStorage(const Tensor& inner) {
  if (!inner.unsafeGetTensorImpl()->has_storage()) return fake::makeStorage(0, inner.device());
  auto& [real, mine] = storages_[inner.storage().get()];
  if (!mine.defined() || real.expired()) {
    real = weak_intrusive_ptr<StorageImpl>(inner.storage());
    mine = fake::makeStorage(inner.storage()->nbytes(), inner.device());
  }
  return mine;
}

Tensor Recording::wrap(const Tensor& inner, Graph::Value* value) {
  Tensor t(
      make_intrusive<TracedTensor>(intrusive_ptr<Recording>::retainFrom(this), inner, value, wrapperStorage(inner)));
  wrappers_.emplace_back(t.getIntrusivePtr());
  return t;
}

std::vector<Tensor> Recording::living() const {
  std::vector<Tensor> out;
  for (const auto& wrapper : wrappers_)
    if (auto t = wrapper.lock(); t.defined()) out.emplace_back(std::move(t));
  return out;
}

bool Recording::isMemoryMadeHere(const Tensor& t) const {
  const auto found = families_.find(storageOf(t));
  return found != families_.end() && !found->second.storage.expired() &&
         found->second.values.front().first->kind == Graph::Value::Kind::kResult;
}

// What was made here has the version that it will have. A fake tensor begins to count anew.
void Recording::readsVersion(const Tensor& t) {
  if (isMemoryMadeHere(t) || std::exchange(read_version_, true) || !refuses_elements) return;
  read_version_at_ = trace_detail::callSite();
}

void Recording::readsOffset(const Tensor& t) {
  const Operand o = resolve(t);  // captured, so that it is compared
  read_offset_ |= !isMemoryMadeHere(o.inner);
}

void Recording::readsIdentity(const Tensor& t, const char* method) {
  if (refuses_elements && resolve(t).value->kind != Graph::Value::Kind::kResult) refuseAnswer(t, method);
}

void Recording::readsMemory(const Tensor& t, const char* method) {
  if (refuses_elements && !isMemoryMadeHere(resolve(t).inner)) refuseAnswer(t, method);
}

void Recording::refuseAnswer(const Tensor& t, const char* method) const {
  throw Error(str(method, ", of a tensor of shape ", t.sizes(),
                  " from outside of the function: a graph would have the answer for the tensor that is there now. Ask "
                  "for it outside of the function",
                  trace_detail::callSite()));
}

void Recording::readsText(const Tensor& t) {
  SHUNT_CHECK(!refuses_elements, "the text of a tensor of shape ", t.sizes(),
              ": a graph would have the elements that are there now, and print nothing. Write it outside of the "
              "function",
              trace_detail::callSite());
}

void Recording::readsElements(const Tensor& t) {
  SHUNT_CHECK(
      tracedOf(t) == nullptr, "cannot access data pointer of a traced tensor of shape ", t.sizes(),
      ": it stands for a value of the graph that is being recorded, and has no elements. Use operators, or read "
      "the elements outside of the ",
      refuses_elements ? "compiled" : "traced", " function", trace_detail::callSite());
  SHUNT_CHECK(!refuses_elements, "data_ptr(), of a tensor of shape ", t.sizes(),
              " from outside of the function: a graph would have the elements that are there now. Read and write them "
              "by operators, or outside of the function",
              trace_detail::callSite());
}

void Recording::seeded() {
  if (!std::exchange(seeded_, true) && refuses_elements) seeded_at_ = trace_detail::callSite();
}

void Recording::borrowsMemory(IntArrayRef sizes) {
  SHUNT_CHECK(!refuses_elements, "from_blob(), of a tensor of shape ", sizes,
              ": a graph would have the memory that is there now, which may be gone at the next call. Make the tensor "
              "outside of the function, or by operators",
              trace_detail::callSite());
}

void Recording::usesFile(const char* function) {
  SHUNT_CHECK(!refuses_elements, function,
              "(), of a file: a graph would have what the file holds now, and write none. Read and write files outside "
              "of the function",
              trace_detail::callSite());
}

Tensor Recording::wrapped(const Tensor& t) {
  if (tracedOf(t) != nullptr) return t;
  const Operand o = resolve(t);
  return wrap(o.inner, o.value);
}

Tensor Recording::addInput(const Tensor& t, Graph::Spec spec) {
  SHUNT_CHECK(tracedOf(t) == nullptr, "trace: an input is a traced tensor already; give it the tensors to trace with");
  Graph::Value* value = graph.addInput(std::move(spec));
  const auto [home, first] = homes_.try_emplace(storageOf(t), value->id);
  value->storage = home->second;
  const Tensor inner = fake_ ? converter_.from_tensor(t) : t;
  if (!known_.contains(inner.unsafeGetTensorImpl())) know(inner, value);
  if (!inner.is_same(t)) know(t, value, inner);
  return wrap(inner, value);
}

Tensor Recording::addConstant(const Tensor& constant, const Tensor& inner) {
  Graph::Value* value = graph.addConstant(constant);
  if (!inner.is_same(constant)) know(constant, value, inner);
  know(inner, value);
  return wrap(inner, value);
}

Tensor Recording::giveLastResult(const Tensor& result) {
  Graph::Node* node = graph.nodes().back();
  Graph::Value* value = graph.addResult(node, specOf(result));
  node->outputs.at(0).values.at(0) = value;
  know(result, value);
  return wrap(result, value);
}

Recording::Operand Recording::capture(const Tensor& t) {
  SHUNT_CHECK(!t.key_set().has(Functionality::Batched),
              "trace: a tensor inside vmap or grad can't be captured: its value belongs to the transform, and is gone "
              "when the graph runs");
  const TracerOff off;
  const Tensor inner = fake_ ? converter_.from_tensor(t) : t;
  Graph::Value* value = graph.addConstant(t);
  const auto [home, first] = homes_.try_emplace(storageOf(t), value->id);
  value->storage = home->second;
  know(inner, value);
  if (!inner.is_same(t)) know(t, value, inner);
  captured_.emplace_back(t, inner);
  return {t, inner, value, nullptr};
}

// A tensor that isn't known, in memory that is: what autograd has saved is such an alias, made without an operator.
// Outside of backward a plain tensor that shares memory with an input or a constant is one that the function captured.
Graph::Value* Recording::derived(const Tensor& t) {
  const auto found = families_.find(storageOf(t));
  if (found == families_.end() || found->second.storage.expired()) return nullptr;
  const auto& values = found->second.values;
  const bool made_here = values.front().first->kind == Graph::Value::Kind::kResult;
  if (!made_here && !trace_detail::inBackward()) return nullptr;
  // The last one that shows the same, but rather one with the same history: detach() shows the same and has none.
  Graph::Value *same = nullptr, *base = nullptr;
  const History history = historyOf(t);
  bool is_own = false;
  for (const auto& [value, its] : values) {
    if (value->spec.dtype == t.dtype()) base = value;
    if (!sameGeometry(value->spec, t) || (is_own && its != history)) continue;
    is_own = its == history;
    same = value;
  }
  // What autograd saved of a view that was written then has a place of its own in gradients of gradients.
  if (!is_own && GradMode::is_enabled())
    if (Graph::Value* written = writtenBaseOf(t)) return asStridedOf(written, t, true);
  if (same != nullptr) return same;
  return base != nullptr ? asStridedOf(base, t, false) : nullptr;
}

Graph::Value* Recording::writtenBaseOf(const Tensor& t) {
  const History history = historyOf(t);
  if (history.node == nullptr || history.node->name() != "AsStridedBackward0") return nullptr;
  const autograd::Edge& edge = history.node->next_edge(0);
  if (!edge.is_valid()) return nullptr;
  const History of_base = {edge.function.get(), edge.function->sequence_nr(), edge.input_nr};
  Graph::Value* out = nullptr;
  for (const auto& [impl, known] : known_) {
    const Tensor tensor(known.tensor.lock());
    if (!tensor.defined() || storageOf(tensor) != storageOf(t) || historyOf(tensor) != of_base) continue;
    if (out == nullptr || known.value->id < out->id) out = known.value;
  }
  return out;
}

Graph::Value* Recording::asStridedOf(Graph::Value* base, const Tensor& t, bool records) {
  static const auto op = Dispatcher::singleton().findSchemaOrThrow("aten::as_strided", "");
  Graph::Node view(op);
  view.arguments = {base, IValue(t.sizes()), IValue(t.strides()), IValue(t.storage_offset())};
  view.modes = Graph::Modes::now();
  view.modes.grad = records;
  Graph::Node* node = graph.append(std::move(view));
  node->outputs.resize(1);
  node->outputs[0].values.push_back(graph.addResult(node, specOf(t)));
  return node->result();
}

// The function has an input by itself, too: others that are given in its place are not what it reads.
void Recording::noteCaptured(const Tensor& t, const Tensor& inner) {
  const auto isIt = [&](const auto& known) { return known.first.is_same(t); };
  if (std::ranges::none_of(captured_, isIt)) captured_.emplace_back(t, inner);
}

Recording::Operand Recording::resolve(const Tensor& t) {
  if (TracedTensor* wrapper = tracedOf(t)) {
    SHUNT_CHECK(wrapper->recording() == this, "trace: a traced tensor of shape ", t.sizes(),
                " belongs to another trace(), which is over or runs elsewhere; a trace uses its own inputs");
    return {t, wrapper->inner(), wrapper->value(), wrapper};
  }
  const TensorImpl* impl = t.unsafeGetTensorImpl();
  if (const auto known = known_.find(impl); known != known_.end()) {
    if (!known->second.tensor.expired()) {
      const bool is_input = known->second.inner.defined() && known->second.value->kind == Graph::Value::Kind::kInput;
      if (is_input) noteCaptured(t, known->second.inner);
      return {t, known->second.inner.defined() ? known->second.inner : t, known->second.value, nullptr};
    }
    known_.erase(known);
  }
  if (Graph::Value* value = derived(t)) {
    know(t, value);
    return {t, t, value, nullptr};
  }
  return capture(t);
}

Graph::Value* Recording::valueOf(const Tensor& t) { return resolve(t).value; }

// ---- grads --------------------------------------------------------------------------------------------------------
Tensor& Recording::slotOf(const Tensor& variable) {
  return autograd::materialize_autograd_meta(autograd::graph_tensor(variable))->grad_;
}

const Tensor& Recording::grad(const Tensor& t) {
  static const Tensor kNone;
  syncGrads();
  const Operand o = resolve(t);
  if (autograd::gradOf(autograd::graph_tensor(o.inner)) == nullptr) return kNone;
  static const auto op = Dispatcher::singleton().findSchemaOrThrow("trace::grad", "");
  Stack stack{t};
  op.callBoxed(stack);
  return grads_[o.inner.unsafeGetTensorImpl()] = stack.back().toTensor();
}

Tensor& Recording::mutableGrad(const Tensor& t) {
  if (grad(t).defined()) grads_.erase(resolve(t).inner.unsafeGetTensorImpl());  // recorded, so that it is known
  const Tensor variable = resolve(t).inner;
  Tensor& slot = slotOf(variable);
  // Where there is none now, there may be one when the graph runs, and `= Tensor()` is what most callers do.
  slots_[variable.unsafeGetTensorImpl()] = {variable, slot, !slot.defined()};
  return slot;
}

void Recording::syncGrads() {
  if (syncing_ || slots_.empty()) return;
  syncing_ = true;
  struct Done {
    bool& on;
    ~Done() { on = false; }
  } const done{syncing_};
  static const auto op = Dispatcher::singleton().findSchemaOrThrow("trace::set_grad_", "");
  for (auto& [impl, slot] : slots_) {
    const Tensor now = slotOf(slot.variable);
    if (now.is_same(slot.last) && !std::exchange(slot.unknown, false)) continue;
    Stack stack{slot.variable, now.defined() ? IValue(now) : IValue()};
    op.callBoxed(stack);
    slot.last = slotOf(slot.variable);
  }
}

void Recording::noteGrads() {
  if (syncing_) return;
  for (auto& [impl, slot] : slots_) slot.last = slotOf(slot.variable), slot.unknown = false;
}

void Recording::close() noexcept {
  for (auto& [impl, slot] : slots_) {
    Tensor& now = slotOf(slot.variable);
    if (const TracedTensor* wrapper = tracedOf(now)) now = Tensor(wrapper->inner());
  }
  open_ = false;
  slots_.clear();
  grads_.clear();
  known_.clear();
  families_.clear();
  storages_.clear();
}

}  // namespace shunt::detail
