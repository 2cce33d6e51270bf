// How the generated Autograd wrappers record a call: the new node with its edges before it, the result's history after
// it. Parts of the functions that the wrappers call for it: Note [Recording apart]
// (tools/opgen/emitters/autograd.cpp). Acts on the wrapper's arguments only.
#pragma once

#include <shunt/autograd/variable_utils.h>

#include <memory>
#include <optional>
#include <type_traits>

namespace shunt::wrappers {

SHUNT_NOINLINE inline void addEdgeOfLeafOrView(Node& node, const Tensor& t) {
  node.add_next_edge(autograd::gradient_edge(t));
}

SHUNT_ALWAYS_INLINE void addEdges(Node& node, const Tensor& t) {
  const autograd::AutogradMeta* meta = t.defined() ? autograd::get_autograd_meta(t) : nullptr;
  if (meta == nullptr) return node.add_next_edge({});
  if (meta->is_view_ || !meta->grad_fn_) [[unlikely]]
    return addEdgeOfLeafOrView(node, t);
  node.add_next_edge(autograd::Edge(meta->grad_fn_, meta->output_nr_));
}
SHUNT_ALWAYS_INLINE void addEdges(Node& node, const std::optional<Tensor>& t) {
  if (t)
    addEdges(node, *t);
  else
    node.add_next_edge({});
}
inline void addEdges(Node& node, TensorList list) {
  for (const Tensor& t : list) addEdges(node, t);
}
inline void addEdges(Node& node, TensorOptList list) {
  for (const auto& t : list) addEdges(node, t);
}

SHUNT_NOINLINE inline void setEdgeOfLeafOrView(autograd::Edge& edge, const Tensor& t) {
  edge = autograd::gradient_edge(t);
}

/// Makes an invalid edge that of `t`.
SHUNT_ALWAYS_INLINE void setEdge(autograd::Edge& edge, const Tensor& t) {
  const autograd::AutogradMeta* meta = t.defined() ? autograd::get_autograd_meta(t) : nullptr;
  if (meta == nullptr) return;
  if (meta->is_view_ || !meta->grad_fn_) [[unlikely]]
    return setEdgeOfLeafOrView(edge, t);
  std::construct_at(&edge, meta->grad_fn_, meta->output_nr_);  // an invalid one owns nothing
}
SHUNT_ALWAYS_INLINE void setEdge(autograd::Edge& edge, const std::optional<Tensor>& t) {
  if (t) setEdge(edge, *t);
}

/// A copy, by kind and number: the caller has mostly just written the two, and one load of both would wait until they
/// are in the cache.
SHUNT_ALWAYS_INLINE Scalar kept(const Scalar& s) {
  if (s.isFloatingPoint()) return s.toDouble();
  if (s.isBoolean()) return s.toBool();
  return s.toLong();
}

template <class T>
inline constexpr bool kIsOneTensor = std::is_same_v<T, Tensor> || std::is_same_v<T, std::optional<Tensor>>;

/// A node of class N with one edge for each tensor, absent ones too, lists flattened.
template <class N, class... Args>
SHUNT_ALWAYS_INLINE intrusive_ptr<N> makeNode(const Args&... args) {
  // Its members have initializers; with parentheses, `new` would write zeros over all of it first.
  auto node = intrusive_ptr<N>::reclaim(new N);
  if constexpr (sizeof...(Args) <= autograd::edge_list::kInline && (kIsOneTensor<Args> && ...)) {
    autograd::Edge* edge = node->make_edges(sizeof...(Args));
    (setEdge(*edge++, args), ...);
  } else {
    (addEdges(*node, args), ...);
  }
  return node;
}

/// Makes the node the history of the operator's only result, and takes it over. One function for all nodes.
SHUNT_ALWAYS_INLINE void recordOutput(const Tensor& result, Node* owned) { autograd::record_output(result, owned); }
SHUNT_NOINLINE inline void recordOutput(const std::vector<Tensor>& results, Node* owned) {
  autograd::set_history(results, intrusive_ptr<Node>::reclaim(owned));
}

}  // namespace shunt::wrappers
