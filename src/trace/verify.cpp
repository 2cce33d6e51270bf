// Graph::verify: definitions before uses, schemas, and shapes by fake tensors.
#include <shunt/core/stack_tensors.h>
#include <shunt/core/tls.h>
#include <shunt/trace/graph.h>

#include "src/dispatch/boxed_types.h"
#include "src/trace/fakes.h"
#include "src/trace/interpreter.h"
#include "src/trace/verify.h"
#include "src/transforms/fake/fake_impl.h"

#include <unordered_set>

namespace shunt {
namespace {

std::string nodeText(const Graph::Node& node, size_t position) {
  return detail::str("Graph: node ", position, ", ", node.name(), ": ");
}

using Defined = std::unordered_set<const Graph::Value*>;

void checkUses(const Graph::Node& node, size_t position, const Defined& defined) {
  const auto& wanted = node.op.schema().arguments();
  for (size_t i = 0; i < node.arguments.size(); ++i)
    for (const Graph::Value* v : node.arguments[i].values)
      SHUNT_CHECK(v == nullptr || defined.contains(v), nodeText(node, position), "argument '", wanted[i].name, "' is %",
                  v->id, ", which no input, constant or earlier node gives");
}

void checkArguments(const Graph::Node& node, size_t position) {
  const auto& wanted = node.op.schema().arguments();
  SHUNT_CHECK(node.arguments.size() == wanted.size(), nodeText(node, position), "expected ", wanted.size(),
              " arguments, got ", node.arguments.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    using Kind = Graph::Argument::Kind;
    const Graph::Argument& a = node.arguments[i];
    const Type& type = wanted[i].type;
    const bool tensors = type.kind == TypeKind::Tensor;
    const bool fits = a.kind == Kind::kLiteral ? boxed::tagsOfArgument(type).has(a.literal.tag())
                                               : tensors && type.list == (a.kind == Kind::kList);
    SHUNT_CHECK(fits, nodeText(node, position), "argument '", wanted[i].name, "': expected ", type, ", got ",
                a.kind == Kind::kValue  ? "Tensor"
                : a.kind == Kind::kList ? "Tensor[]"
                                        : a.literal.tagName());
  }
}

void checkReturns(const Graph::Node& node, size_t position) {
  const auto& wanted = node.op.schema().returns();
  SHUNT_CHECK(node.outputs.size() == wanted.size(), nodeText(node, position), "expected ", wanted.size(),
              " returns, got ", node.outputs.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    SHUNT_CHECK(wanted[i].type.kind == TypeKind::Tensor && node.outputs[i].is_list == wanted[i].type.list,
                nodeText(node, position), "return ", i, ": expected ", wanted[i].type, ", got ",
                node.outputs[i].is_list ? "Tensor[]" : "Tensor");
    SHUNT_CHECK(node.outputs[i].is_list || node.outputs[i].values.size() == 1, nodeText(node, position), "return ", i,
                ": expected one value, got ", node.outputs[i].values.size());
  }
}

void checkSpec(const Graph::Node& node, size_t position, const Graph::Value* expected, const Tensor& got) {
  if (expected == nullptr || !got.defined()) return;
  const Graph::Spec& e = expected->spec;
  SHUNT_CHECK(e.dtype == got.dtype() && got.sizes() == IntArrayRef(e.sizes) &&
                  fake::normalized(e.device) == fake::normalized(got.device()),
              nodeText(node, position), "%", expected->id, " is recorded as ", dtypeName(e.dtype), IntArrayRef(e.sizes),
              " on ", e.device, ", but the operator gives ", dtypeName(got.dtype()), got.sizes(), " on ", got.device());
}

// What the graph reads from a tensor's grad isn't known without running it: it is what was recorded.
bool readsGrad(const Graph::Node& node) { return node.is("trace::grad"); }

void checkShapes(const Graph& graph) {
  const trace_detail::Fakes fakes(graph);
  const ExcludeDispatchKeyGuard below(fake::kModesAndWrappers);
  const IncludeDispatchKeyGuard fake(DispatchKey::Fake);
  size_t position = 0;
  trace_detail::RecordedForFakes recorded;
  const auto check = [&](const Graph::Node& node, Stack& returns) {
    if (readsGrad(node) && node.result() != nullptr && !returns[0].toTensor().defined())
      returns[0] = IValue(trace_detail::fakeOf(node.result()->spec));
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      size_t j = 0;
      forEachTensor(returns[i], [&](const Tensor& t) {
        SHUNT_CHECK(j < node.outputs[i].values.size(), nodeText(node, position), "return ", i, ": ", j,
                    " tensors are recorded, the operator gives more");
        recorded.add(t);
        checkSpec(node, position, node.outputs[i].values[j++], t);
      });
    }
    ++position;
  };
  trace_detail::Interpreter(graph, [&](const Graph::Value& v) { return fakes.of(v); }).run(check);
}

}  // namespace

void trace_detail::checkSchema(const Graph::Node& node, size_t position) {
  checkArguments(node, position);
  checkReturns(node, position);
}

void Graph::verify() const {
  Defined defined(inputs_.begin(), inputs_.end());
  defined.insert(constants_.begin(), constants_.end());
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = *nodes_[i];
    SHUNT_CHECK(node.op.hasSchema(), nodeText(node, i), "the operator is not registered (any more)");
    checkUses(node, i, defined);
    trace_detail::checkSchema(node, i);
    for (const Output& o : node.outputs) defined.insert(o.values.begin(), o.values.end());
  }
  for (size_t i = 0; i < outputs_.size(); ++i)
    SHUNT_CHECK(outputs_[i] != nullptr && defined.contains(outputs_[i]), "Graph::verify: output ", i,
                " is no value of the graph");
  checkShapes(*this);
}

}  // namespace shunt
