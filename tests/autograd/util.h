// Tensors and nodes that the autograd tests share.
#pragma once

#include <shunt/shunt.h>

#include "tests/support/error_of.h"

#include <string>
#include <vector>

namespace shunt::test {

using Values = std::vector<double>;

inline Tensor tensorOf(const Values& v) {
  const Tensor t = empty({static_cast<int64_t>(v.size())}, kDouble);
  std::copy(v.begin(), v.end(), t.data_ptr<double>());
  return t;
}

inline Tensor leaf(const Values& v) { return tensorOf(v).requires_grad_(); }

/// The elements in row-major order.
inline Values values(const Tensor& t) {
  const Tensor c = t.detach().to(kDouble).contiguous();
  return {c.data_ptr<double>(), c.data_ptr<double>() + c.numel()};
}

/// `output` with a node of class N after `inputs`; further arguments go to the node.
template <class N, class... Args>
Tensor applyNode(const autograd::variable_list& inputs, Tensor output, Args&&... args) {
  intrusive_ptr<N> node = make_intrusive<N>(std::forward<Args>(args)...);
  node->set_next_edges(autograd::collect_next_edges(inputs));
  if (output.is_alias_of(inputs[0])) output = autograd::detached_alias(output);
  autograd::set_history(output, node);
  return output;
}

struct PassNode : Node {
  autograd::variable_list apply(autograd::variable_list&& grads) override { return std::move(grads); }
};

struct CountingNode : Node {
  explicit CountingNode(int* calls) : calls_(calls) {}
  autograd::variable_list apply(autograd::variable_list&& grads) override {
    ++*calls_;
    return std::move(grads);
  }
  int* calls_;
};

/// Notes the room of the lists that it is given.
struct RoomNode : Node {
  explicit RoomNode(std::vector<size_t>* rooms) : rooms_(rooms) {}
  autograd::variable_list apply(autograd::variable_list&& grads) override {
    rooms_->push_back(grads.capacity());
    return std::move(grads);
  }
  std::vector<size_t>* rooms_;
};

struct UndefinedNode : Node {
  autograd::variable_list apply(autograd::variable_list&&) override { return {Tensor()}; }
};

struct WrongShapeNode : Node {
  autograd::variable_list apply(autograd::variable_list&&) override { return {ones({2}, kDouble)}; }
};

struct TooFewNode : Node {
  autograd::variable_list apply(autograd::variable_list&& grads) override { return {grads[0]}; }
};

struct ThrowingNode : Node {
  autograd::variable_list apply(autograd::variable_list&&) override { throw shunt::Error("from inside a node"); }
};

/// Runs a whole backward of its own.
struct NestedNode : Node {
  autograd::variable_list apply(autograd::variable_list&& grads) override {
    EnableGradGuard enable;
    const Tensor v = grads[0].detach().clone().requires_grad_();
    v.mul(v).mul(3).sum().backward();
    return {grads[0].add(v.grad())};
  }
};

}  // namespace shunt::test
