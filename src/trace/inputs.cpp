#include "src/trace/inputs.h"

#include "src/trace/values_of.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

namespace shunt::trace_detail {
namespace {

/// No stride of a dimension of size 1 leads to an element.
bool hasRecordedStrides(const Tensor& t, const Graph::Spec& spec) {
  bool same = true;
  for (size_t d = 0; d < spec.sizes.size(); ++d)
    same = same && (spec.sizes[d] == 1 || spec.strides[d] == t.strides()[d]);
  return same || t.numel() == 0;
}

/// What functionalize makes of views: names a place in the storage of its first argument.
bool isForOnePlace(const Graph::Node& node) {
  const std::string_view name = node.op.op().name();
  return name == "aten::as_strided_scatter" || name == "aten::as_strided_";
}

/// Has strides among its arguments that follow from how its first argument lay.
bool isForOneLayout(const Graph::Node& node) {
  return node.op.op().name() == "aten::_reshape_alias" || isForOnePlace(node);
}

/// Values that lie as an input does: its views, and what may follow its layout, as the results of pointwise operators.
class Followers {
 public:
  explicit Followers(const Graph::Value* input) : views_{input}, all_{input} {}

  bool showsInput(const Graph::Value* v) const { return views_.contains(v); }
  bool follows(const Graph::Value* v) const { return all_.contains(v); }

  void add(const Graph::Node& node) {
    const auto& wanted = node.op.schema().arguments();
    for (size_t i = 0; i < wanted.size(); ++i) {
      const bool is_shown = wanted[i].alias || wanted[i].container_alias;
      forValues(node.arguments[i], [&](const Graph::Value* v) {
        forResults(node, [&](const Graph::Value* result) {
          if (is_shown && showsInput(v)) views_.insert(result);
          const bool is_like = is_shown || (!node.op.schema().is_mutable() && result->spec.sizes == v->spec.sizes);
          if (is_like && follows(v)) all_.insert(result);
        });
      });
    }
  }

 private:
  std::unordered_set<const Graph::Value*> views_, all_;
};

/// The first node that is for where this input lay; null where there is none.
const Graph::Node* firstForPlaceOf(const Graph& graph, const Graph::Value* input, bool other_strides,
                                   bool other_offset) {
  Followers followers(input);
  for (const Graph::Node* node : graph.nodes()) {
    const Graph::Value* self = node->arguments.empty() ? nullptr : node->arguments[0].value();
    if (other_strides && isForOneLayout(*node) && followers.follows(self)) return node;
    if (other_offset && isForOnePlace(*node) && followers.showsInput(self)) return node;
    followers.add(*node);
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
  const bool other_strides = !hasRecordedStrides(t, spec), other_offset = t.storage_offset() != spec.offset;
  if (!other_strides && !other_offset) return;
  const Graph::Node* node = firstForPlaceOf(graph, graph.inputs()[i], other_strides, other_offset);
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
