// Nodes and values of a graph, and how passes change them.
#include <shunt/trace/graph.h>

#include <shunt/core/dispatcher.h>

#include "src/dispatch/default_value.h"
#include "src/trace/fakes.h"
#include "src/trace/interpreter.h"
#include "src/trace/values_of.h"

#include <algorithm>
#include <unordered_map>

namespace shunt {

Graph::Spec specOf(const Tensor& t) {
  const TensorImpl& impl = *t.unsafeGetTensorImpl();
  return {t.dtype(),          t.device(),        t.sizes().vec(), t.strides().vec(),
          t.storage_offset(), t.requires_grad(), t.is_leaf(),     impl.is_wrapped_number()};
}

namespace {
int64_t idOf(const std::unique_ptr<Graph::Value>& v) { return v->id; }
}  // namespace

std::vector<Graph::Node*> Graph::nodes() const {
  std::vector<Node*> out;
  out.reserve(nodes_.size());
  for (const auto& node : nodes_) out.push_back(node.get());
  return out;
}

Graph::Value* Graph::value(int64_t id) const {
  const auto at = std::ranges::lower_bound(values_, id, {}, &idOf);
  return at != values_.end() && (*at)->id == id ? at->get() : nullptr;
}

// ---- building -----------------------------------------------------------------------------------------------------
Graph::Value* Graph::addValue(Value value) {
  next_id_ = std::max(next_id_, value.id + 1);
  auto made = std::make_unique<Value>(std::move(value));
  Value* v = made.get();
  values_.insert(std::ranges::upper_bound(values_, v->id, {}, &idOf), std::move(made));  // at the end, but from a file
  if (v->kind == Value::Kind::kInput) inputs_.push_back(v);
  if (v->kind == Value::Kind::kConstant) constants_.push_back(v);
  return v;
}

Graph::Value* Graph::addInput(Spec spec) {
  return addValue({Value::Kind::kInput, next_id_, std::move(spec), next_id_, nullptr, {}});
}

Graph::Value* Graph::addConstant(const Tensor& t) {
  SHUNT_CHECK(t.defined(), "Graph::addConstant: the tensor is undefined");
  int64_t home = next_id_;
  for (const Value* other : constants_)
    if (other->constant.unsafeGetTensorImpl()->has_storage() && t.unsafeGetTensorImpl()->has_storage() &&
        other->constant.is_alias_of(t)) {
      home = other->storage;
      break;
    }
  return addValue({Value::Kind::kConstant, next_id_, specOf(t), home, nullptr, t});
}

Graph::Value* Graph::addResult(Node* node, Spec spec) {
  return addValue({Value::Kind::kResult, next_id_, std::move(spec), next_id_, node, {}});
}

Graph::Node* Graph::append(Node node) {
  nodes_.push_back(std::make_unique<Node>(std::move(node)));
  return nodes_.back().get();
}

size_t Graph::positionOf(const Node* node) const {
  const auto found = std::find_if(nodes_.begin(), nodes_.end(), [&](const auto& n) { return n.get() == node; });
  SHUNT_CHECK(found != nodes_.end(), "Graph: the node is not one of this graph, or was erased");
  return static_cast<size_t>(found - nodes_.begin());
}

// ---- changing -----------------------------------------------------------------------------------------------------
std::vector<Graph::Node*> Graph::users(const Value* value) const {
  std::vector<Node*> out;
  for (const auto& node : nodes_) {
    const auto uses = [&](const Argument& a) { return std::ranges::find(a.values, value) != a.values.end(); };
    if (std::ranges::any_of(node->arguments, uses)) out.push_back(node.get());
  }
  return out;
}

bool Graph::isOutput(const Value* value) const { return std::ranges::find(outputs_, value) != outputs_.end(); }

void Graph::replace(const Value* value, Value* by) {
  SHUNT_CHECK(value != nullptr && by != nullptr, "Graph::replace: expected two values, got null");
  SHUNT_CHECK(value->spec.dtype == by->spec.dtype && value->spec.sizes == by->spec.sizes, "Graph::replace: %",
              value->id, " is ", dtypeName(value->spec.dtype), IntArrayRef(value->spec.sizes), ", but %", by->id,
              " is ", dtypeName(by->spec.dtype), IntArrayRef(by->spec.sizes));
  for (Node* user : users(value)) {
    if (user == by->node) continue;
    for (Argument& a : user->arguments) std::ranges::replace(a.values, const_cast<Value*>(value), by);
  }
  std::ranges::replace(outputs_, const_cast<Value*>(value), by);
}

void Graph::erase(const Node* node) {
  std::ignore = positionOf(node);
  erase(std::unordered_set<const Node*>{node});
}

void Graph::erase(const std::unordered_set<const Node*>& nodes) {
  if (nodes.empty()) return;
  const auto isOfThem = [&](const Value* v) { return v->node != nullptr && nodes.contains(v->node); };
  for (const Value* v : outputs_)
    SHUNT_CHECK(v == nullptr || !isOfThem(v), "Graph::erase: %", v->id, ", a result of ", v->node->name(),
                ", is an output of the graph; replace it first");
  for (const auto& user : nodes_) {
    if (nodes.contains(user.get())) continue;
    trace_detail::forArguments(*user, [&](const Value* v) {
      SHUNT_CHECK(!isOfThem(v), "Graph::erase: %", v->id, ", a result of ", v->node->name(), ", is used by ",
                  user->name(), "; replace it first");
    });
  }
  std::erase_if(values_, [&](const auto& v) { return isOfThem(v.get()); });
  std::erase_if(nodes_, [&](const auto& n) { return nodes.contains(n.get()); });
}

Graph::Node* Graph::insert(const Node* before, std::string_view name, std::vector<Argument> arguments) {
  const OperatorName full = parseName(name);
  Node made(Dispatcher::singleton().findSchemaOrThrow(full.name.c_str(), full.overload_name.c_str()));
  const auto& wanted = made.op.schema().arguments();
  SHUNT_CHECK(arguments.size() <= wanted.size(), "Graph::insert: ", name, " has ", wanted.size(), " arguments, got ",
              arguments.size());
  for (size_t i = arguments.size(); i < wanted.size(); ++i) {
    SHUNT_CHECK(wanted[i].default_value || wanted[i].type.optional, "Graph::insert: ", name, ": argument '",
                wanted[i].name, "' is missing");
    arguments.push_back(wanted[i].default_value ? Argument(defaultValueOf(wanted[i])) : Argument(IValue()));
  }
  made.arguments = std::move(arguments);
  if (!nodes_.empty()) made.modes = before != nullptr ? before->modes : nodes_.back()->modes;
  const size_t position = before != nullptr ? positionOf(before) : nodes_.size();
  const auto results = trace_detail::resultsOf(made);
  Node* node =
      nodes_.insert(nodes_.begin() + static_cast<ptrdiff_t>(position), std::make_unique<Node>(std::move(made)))->get();
  for (const auto& [is_list, specs] : results) {
    Output out{is_list, {}};
    for (const auto& spec : specs) out.values.push_back(spec ? addResult(node, *spec) : nullptr);
    node->outputs.push_back(std::move(out));
  }
  return node;
}

Graph Graph::clone() const {
  Graph copy;
  std::unordered_map<const Value*, Value*> values{{nullptr, nullptr}};
  std::unordered_map<const Node*, Node*> nodes{{nullptr, nullptr}};
  for (const auto& node : nodes_) nodes[node.get()] = copy.append(Node(*node));
  for (const auto& v : values_) {
    Value made = *v;
    made.node = nodes.at(v->node);
    values[v.get()] = copy.addValue(std::move(made));
  }
  const auto translate = [&](std::vector<Value*>& list) {
    for (Value*& v : list) v = values.at(v);
  };
  for (const auto& node : copy.nodes_) {
    for (Argument& a : node->arguments) translate(a.values);
    for (Output& o : node->outputs) translate(o.values);
  }
  copy.outputs_ = outputs_;
  translate(copy.outputs_);
  copy.next_id_ = next_id_;
  return copy;
}

// ---- running ------------------------------------------------------------------------------------------------------
std::vector<Tensor> Graph::run(const std::vector<Tensor>& inputs) const {
  return trace_detail::runGraphAlone(*this, inputs, [](const Node&, Stack&) {});
}

}  // namespace shunt
