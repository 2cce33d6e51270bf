#include "src/trace/fakes.h"

#include <shunt/autograd/autograd_meta.h>
#include <shunt/core/stack_tensors.h>
#include <shunt/ops.h>

#include "src/trace/interpreter.h"
#include "src/transforms/fake/fake_impl.h"

#include <algorithm>

namespace shunt::trace_detail {
namespace {

size_t bytesOf(const Graph::Spec& spec) {
  const auto item = static_cast<int64_t>(elementSize(spec.dtype));
  const int64_t bytes = detail::storageBytes("Graph", spec.sizes, spec.strides, item);
  return static_cast<size_t>(bytes == 0 ? 0 : bytes + spec.offset * item);
}

Tensor fakeIn(const Storage& storage, const Graph::Spec& spec) {
  const DispatchKeySet keys = fake::withViewKey(keySetFor(storage->device()), true).add(DispatchKey::Fake);
  auto impl = make_intrusive<TensorImpl>(storage, keys, spec.dtype);
  impl->set_sizes_and_strides(spec.sizes, spec.strides, spec.offset);
  impl->set_wrapped_number(spec.wrapped_number);
  const Tensor result(std::move(impl));
  if (!spec.requires_grad) return result;
  const EnableGradGuard grad;
  result.set_requires_grad(true);
  if (spec.is_leaf) return result;
  const Tensor made = result.clone();
  if (made.strides().equals(spec.strides)) return made;
  // A view, but not of a leaf, which nobody could write.
  const auto elements = static_cast<int64_t>(bytesOf(spec) / elementSize(spec.dtype));
  const Tensor whole = result.as_strided({elements}, {1}, 0).clone();
  return whole.as_strided(spec.sizes, spec.strides, spec.offset);
}

}  // namespace

Tensor fakeOf(const Graph::Spec& spec) {
  return fakeIn(fake::makeStorage(bytesOf(spec), fake::normalized(spec.device)), spec);
}

Fakes::Fakes(const Graph& graph) {
  const ExcludeDispatchKeyGuard below(fake::kModesAndWrappers | kAutocastKeys);
  std::unordered_map<int64_t, size_t> bytes;
  std::vector<const Graph::Value*> all(graph.inputs().begin(), graph.inputs().end());
  all.insert(all.end(), graph.constants().begin(), graph.constants().end());
  for (const Graph::Value* v : all) bytes[v->storage] = std::max(bytes[v->storage], bytesOf(v->spec));
  std::unordered_map<int64_t, Storage> storages;
  for (const Graph::Value* v : all) {
    Storage& storage = storages[v->storage];
    if (!storage.defined()) storage = fake::makeStorage(bytes[v->storage], fake::normalized(v->spec.device));
    tensors_.emplace(v->id, fakeIn(storage, v->spec));
  }
}

RecordedForFakes::~RecordedForFakes() {
  for (size_t i = 0; i < nodes_.size(); ++i)
    for (const auto& edge : nodes_[i]->next_edges()) add(edge.function);
  for (const auto& node : nodes_) node->release_variables();
}

void RecordedForFakes::add(const Tensor& t) {
  if (!t.defined()) return;
  if (const auto* meta = autograd::get_autograd_meta(autograd::graph_tensor(t))) add(meta->grad_fn_);
}

void RecordedForFakes::add(const intrusive_ptr<Node>& node) {
  if (node && seen_.insert(node.get()).second) nodes_.push_back(node);
}

Results resultsOf(const Graph::Node& node) {
  Graph single;
  Graph::Node copy(node);
  copy.outputs.clear();
  std::unordered_map<const Graph::Value*, Graph::Value*> inputs{{nullptr, nullptr}};
  for (Graph::Argument& a : copy.arguments)
    for (Graph::Value*& v : a.values) {
      if (!inputs.contains(v)) inputs[v] = single.addInput(v->spec);
      v = inputs[v];
    }
  single.append(std::move(copy));
  const Fakes fakes(single);
  const ExcludeDispatchKeyGuard below(fake::kModesAndWrappers);
  const IncludeDispatchKeyGuard fake(DispatchKey::Fake);  // factories' results, too
  Results out;
  Interpreter(single, [&](const Graph::Value& v) { return fakes.of(v); }).run([&](const Graph::Node&, Stack& returns) {
    for (const IValue& v : returns) {
      auto& [is_list, specs] = out.emplace_back(v.isTensorList(), std::vector<std::optional<Graph::Spec>>());
      forEachTensor(v, [&](const Tensor& t) { specs.push_back(specOf(t)); });
      if (!is_list && specs.empty()) specs.push_back(std::nullopt);
    }
  });
  return out;
}

}  // namespace shunt::trace_detail
