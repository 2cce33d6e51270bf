// Gradients that users hand to backward: seeds, and what hooks and custom functions return. A gradient is a plain
// tensor wherever it comes from: formulas and leaves don't meet a wrapper's class. Any thread.
#pragma once

#include <shunt/core/error.h>
#include <shunt/tensor/wrapper_kind.h>

namespace shunt::autograd {

/// What a wrapper or functional tensor shows, as its class holds it; undefined when it holds none. Not graph_tensor():
/// a leaf that was changed under no_grad keeps its place in the graph, and has other numbers now. Defined in
/// src/interpose.
Tensor heldBy(const Tensor& wrapper);

/// Whether what `t`, a tensor inside vmap, shows a sample of requires grad, at any depth of levels: the tensor itself
/// shows none of it. False for others. Defined in src/transforms.
bool hidesGraph(const Tensor& t);

/// Whether behind a wrapper of vmap or grad, at any depth, there is a fake tensor. Defined in src/transforms.
bool holdsFake(const Tensor& wrapper);

/// A gradient is fake where its variable is.
inline bool isFake(const Tensor& t) {
  const WrapperKind kind = wrapperKind(t);
  return kind == WrapperKind::kFake || (kind == WrapperKind::kBatched && holdsFake(t));
}

inline bool isWrapped(const Tensor& t) {
  const WrapperKind kind = wrapperKind(t);
  return kind == WrapperKind::kSubclass || kind == WrapperKind::kFunctional || kind == WrapperKind::kTraced;
}

/// Takes the wrappers around `grad` off. Throws when one holds no tensor; `who` says who gave it, and ends with "is" or
/// "returned".
template <class... Who>
void makePlain(Tensor& grad, const Who&... who) {
  while (isWrapped(grad)) [[unlikely]] {
    Tensor held = heldBy(grad);
    SHUNT_CHECK(held.defined(), who..., " a wrapper tensor of shape ", grad.sizes(),
                " that holds no tensor, and a gradient is a plain tensor: unwrap it first");
    grad = std::move(held);
  }
}

}  // namespace shunt::autograd
