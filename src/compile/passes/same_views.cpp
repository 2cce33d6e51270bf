#include "src/compile/passes/same_views.h"

#include "src/compile/passes/aliases.h"
#include "src/trace/uses.h"
#include "src/trace/values_of.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace shunt::compiled {
namespace {

using trace_detail::Uses;

// Which are views whatever their arguments are: to() and contiguous() may copy.
constexpr std::string_view kViews[] = {"aten::alias",     "aten::expand",    "aten::permute",
                                       "aten::slice",     "aten::squeeze",   "aten::t",
                                       "aten::transpose", "aten::unsqueeze", "aten::view"};

constexpr std::string_view kOtherViews[] = {"aten::_reshape_alias", "aten::as_strided", "aten::diagonal",
                                            "aten::select"};

/// The tensor that a node's result is a view of; null for other nodes.
const Graph::Value* viewedBy(const Graph::Node& node) {
  const bool is_view = std::ranges::find(kViews, node.op.op().name()) != std::end(kViews);
  return is_view && node.result() != nullptr ? node.arguments.at(0).value() : nullptr;
}

bool showsTheSame(const Graph::Spec& a, const Graph::Spec& b) {
  return a.dtype == b.dtype && a.sizes == b.sizes && a.strides == b.strides && a.offset == b.offset &&
         a.requires_grad == b.requires_grad && a.wrapped_number == b.wrapped_number;
}

/// Whether an operator changes what the value's tensor shows: t_(), resize_(), set_data.
bool isReshapedByUser(const Uses& uses, const Graph::Value* value) {
  return std::ranges::any_of(uses.of(value), [&](const Graph::Node* user) {
    const auto& wanted = user->op.schema().arguments();
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (!wanted[i].is_write() ||
          std::ranges::find(user->arguments[i].values, value) == user->arguments[i].values.end())
        continue;
      const bool known = user->outputs.size() == 1 && !user->outputs[0].is_list && user->result() != nullptr;
      if (!known || !showsTheSame(user->result()->spec, value->spec)) return true;
    }
    return false;
  });
}

/// Whether `is` of the value, or of another one that may be the same tensor: in-place operators return what they write,
/// and to(), contiguous(), reshape() or a program's operator may return what they are given.
template <class F>
bool isOfTensor(const Uses& uses, const Graph::Value* value, const F& is) {
  std::vector<const Graph::Value*> names = {value};
  for (size_t i = 0; i < names.size(); ++i) {
    if (is(names[i])) return true;
    for (const Graph::Node* user : uses.of(names[i])) {
      if (!mayAlias(*user) || makesView(*user)) continue;
      trace_detail::forResults(*user, [&](const Graph::Value* v) {
        if (std::ranges::find(names, v) == names.end()) names.push_back(v);
      });
    }
  }
  return false;
}

bool isReshaped(const Uses& uses, const Graph::Value* value) {
  return isOfTensor(uses, value, [&](const Graph::Value* v) { return isReshapedByUser(uses, v); });
}

/// Whether the caller gets the tensor, and may reshape it.
bool isReturned(const Uses& uses, const Graph::Value* value) {
  return isOfTensor(uses, value, [&](const Graph::Value* v) { return uses.isOutput(v); });
}

/// Whether the node gives a view, with Autograd's note of what it is a view of.
bool notesView(const Graph::Node& node) { return makesView(node) && node.modes.excluded == 0 && !node.modes.inference; }

bool isGradOfOtherStrides(const Uses& uses, const Graph::Value* view) {
  return std::ranges::any_of(uses.of(view), [](const Graph::Node* user) { return addsViewOfOtherStrides(*user); });
}

Graph::Value* sameAsResultOf(const Graph& graph, const Uses& uses, const Graph::Node& node) {
  const Graph::Value* result = node.result();
  if (isReturned(uses, result) || isReshaped(uses, result) || isGradOfOtherStrides(uses, result)) return nullptr;
  for (const Graph::Value* base = viewedBy(node); base != nullptr;
       base = base->node != nullptr ? viewedBy(*base->node) : nullptr)
    if (showsTheSame(base->spec, result->spec) && !isReshaped(uses, base)) return graph.value(base->id);
  return nullptr;
}

}  // namespace

bool makesView(const Graph::Node& node) {
  const std::string_view name = node.op.op().name();
  return std::ranges::find(kViews, name) != std::end(kViews) ||
         std::ranges::find(kOtherViews, name) != std::end(kOtherViews);
}

bool addsViewOfOtherStrides(const Graph::Node& node) {
  if (!node.is("trace::accumulate_grad_")) return false;
  const Graph::Value *leaf = node.arguments[0].value(), *grad = node.arguments[1].value();
  return leaf != nullptr && grad != nullptr && grad->node != nullptr && notesView(*grad->node) &&
         leaf->spec.sizes == grad->spec.sizes && leaf->spec.strides != grad->spec.strides;
}

int64_t dropSameViews(Graph& graph) {
  std::unordered_set<const Graph::Node*> gone;
  Uses uses(graph);
  const std::vector<Graph::Node*> nodes = graph.nodes();
  for (const Graph::Node* node : nodes) {
    if (viewedBy(*node) == nullptr) continue;
    if (Graph::Value* same = sameAsResultOf(graph, uses, *node)) {
      uses.replace(node->result(), same);
      gone.insert(node);
    }
  }
  const auto isGone = [&](const Graph::Node* user) { return gone.contains(user); };
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node)
    if (viewedBy(**node) != nullptr && !uses.isOutput((*node)->result()) &&
        std::ranges::all_of(uses.of((*node)->result()), isGone))
      gone.insert(*node);
  graph.erase(gone);
  return static_cast<int64_t>(gone.size());
}

}  // namespace shunt::compiled
