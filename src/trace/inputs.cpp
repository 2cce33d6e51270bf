#include "src/trace/inputs.h"

#include "src/trace/values_of.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

namespace shunt::trace_detail {
namespace {

/// Whether each element is in the recorded place: no stride of a dimension of size 1 leads to one.
bool liesAsRecorded(const Tensor& t, const Graph::Spec& spec) {
  bool same = t.storage_offset() == spec.offset;
  for (size_t d = 0; d < spec.sizes.size(); ++d)
    same = same && (spec.sizes[d] == 1 || spec.strides[d] == t.strides()[d]);
  return same || t.numel() == 0;
}

/// Whether the node has strides, or a place in a storage, among its arguments that follow from how its first argument
/// lay: from reshape(), and from what functionalize makes of views.
bool isForOneLayout(const Graph::Node& node) {
  const std::string_view name = node.op.op().name();
  return name == "aten::_reshape_alias" || name == "aten::as_strided_scatter" || name == "aten::as_strided_";
}

/// The first node that is for how this input lay, or a view of it; null where there is none.
const Graph::Node* firstForLayoutOf(const Graph& graph, const Graph::Value* input) {
  std::unordered_set<const Graph::Value*> shown = {input};
  for (const Graph::Node* node : graph.nodes()) {
    bool reads = false;
    forArguments(*node, [&](const Graph::Value* v) { reads |= shown.contains(v); });
    if (!reads) continue;
    if (isForOneLayout(*node) && shown.contains(node->arguments[0].value())) return node;
    if (node->op.schema().hasAnyAliasInfo()) forResults(*node, [&](const Graph::Value* v) { shown.insert(v); });
  }
  return nullptr;
}

void checkInput(const Graph& graph, size_t i, const Tensor& t) {
  const Graph::Spec& spec = graph.inputs()[i]->spec;
  SHUNT_CHECK(t.defined(), "Graph::run: input ", i, " is undefined");
  SHUNT_CHECK(t.dtype() == spec.dtype && t.device() == spec.device && t.sizes() == IntArrayRef(spec.sizes),
              "Graph::run: input ", i, " was recorded as ", dtypeName(spec.dtype), IntArrayRef(spec.sizes), " on ",
              spec.device, ", got ", dtypeName(t.dtype()), t.sizes(), " on ", t.device(),
              "; trace the function for such inputs");
  if (liesAsRecorded(t, spec)) return;
  const Graph::Node* node = firstForLayoutOf(graph, graph.inputs()[i]);
  SHUNT_CHECK(node == nullptr, "Graph::run: input ", i, " was recorded with strides ", IntArrayRef(spec.strides),
              " at offset ", spec.offset, ", and ", node->name(), " is for these; got strides ", t.strides(),
              " at offset ", t.storage_offset(), "; trace the function for such inputs, or give it a contiguous clone");
}

}  // namespace

void checkRun(const Graph& graph, const std::vector<Tensor>& inputs) {
  SHUNT_CHECK(inputs.size() == graph.inputs().size(), "Graph::run: the graph has ", graph.inputs().size(),
              " inputs, got ", inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) checkInput(graph, i, inputs[i]);
  for (const Graph::Value* v : graph.outputs())
    SHUNT_CHECK(v == nullptr || graph.value(v->id) == v, "Graph::run: output %", v->id,
                " is a value of another graph, or of none; setOutputs() takes the graph's own values");
}

}  // namespace shunt::trace_detail
