// Custom functions: a forward and a backward that the user writes.
//
//   struct MyMul : shunt::autograd::Function<MyMul> {
//     static Tensor forward(AutogradContext* ctx, const Tensor& a, double k) { ctx->saved_data["k"] = k; return a * k;
//     } static variable_list backward(AutogradContext* ctx, variable_list grads) {
//       return {grads[0] * ctx->saved_data["k"].toDouble(), Tensor()};            // one for each argument of forward
//     }
//   };
//   Tensor y = MyMul::apply(x, 2.0);
//
// forward runs without recording. An output that is an argument, or a view of one, is a view for autograd: changing it,
// or what it is a view of, in place is an error, since the function's own backward would be lost. An argument that
// forward itself changes in place is named to mark_dirty and returned. The context belongs to the node; backward must
// not be entered by two threads at once.
#pragma once

#include <shunt/autograd/saved_variable.h>
#include <shunt/autograd/variable_utils.h>
#include <shunt/core/ivalue.h>

#include <initializer_list>
#include <map>
#include <set>

namespace shunt::autograd {

/// What forward leaves for backward, and what it says of its inputs and outputs. Lives as long as the node.
class SHUNT_API AutogradContext {
 public:
  AutogradContext() = default;
  AutogradContext(const AutogradContext&) = delete;
  AutogradContext& operator=(const AutogradContext&) = delete;

  /// Anything that is not a tensor of the graph.
  std::map<std::string, IValue> saved_data;

  /// Inputs or outputs of forward that backward needs; call once.
  void save_for_backward(variable_list to_save) { to_save_ = std::move(to_save); }
  variable_list get_saved_variables() const;
  /// Inputs that forward changed in place; it has to return them. Counts as a change in place, recorded or not.
  void mark_dirty(const variable_list& inputs);
  /// Outputs through which no gradient goes; backward gets zeros for them too.
  void mark_non_differentiable(const variable_list& outputs);
  /// Whether backward gets zeros (the default) or undefined tensors for outputs without gradient.
  void set_materialize_grads(bool on) { materialize_grads_ = on; }
  /// Whether backward's i-th result (counting tensors among forward's arguments) is wanted.
  bool needs_input_grad(size_t i) const { return node_ != nullptr && node_->task_should_compute_output(i); }
  /// Whether any of [first, last) is, for any of the ranges.
  bool needs_input_grad(std::initializer_list<IndexRange> ranges) const {
    for (const IndexRange& range : ranges)
      if (node_ != nullptr && node_->task_should_compute_output(range.first, range.second)) return true;
    return false;
  }

 private:
  friend struct CustomNode;
  std::set<TensorImpl*> dirty_inputs_;
  std::set<TensorImpl*> non_differentiable_;
  variable_list to_save_;
  std::vector<SavedVariable> saved_variables_;
  Node* node_ = nullptr;
  bool materialize_grads_ = true;
  bool released_ = false;
};

/// What a custom function's node does whatever the function is.
struct SHUNT_API CustomNode : public Node {
  using Node::Node;
  variable_list apply(variable_list&& grads) override;
  void release_variables() override;

 protected:
  virtual variable_list callBackward(variable_list grads) = 0;
  /// Around forward: records which arguments are tensors, and gives the outputs their history.
  void prepare(const variable_list& inputs, std::vector<bool> is_tensor, bool record);
  void finish(const variable_list& inputs, variable_list& outputs, bool record);

  AutogradContext context_;
  std::vector<bool> is_tensor_argument_;

 private:
  /// Inputs that forward changed: counts the change, and checks that they are returned.
  void countDirty(const variable_list& inputs, const variable_list& outputs) const;
  bool isDifferentiable(const Tensor& output) const;
  /// Gives the output its history; returns whether gradients go through it.
  bool finishOutput(Tensor& output, const variable_list& inputs, bool record);
  void save();
};

/// The node of a custom function T.
template <class T>
struct CppNode final : public CustomNode {
  using CustomNode::CustomNode;
  /// T::forward on the arguments, recorded.
  template <class... Args>
  static auto run(Args&&... args);

 private:
  variable_list callBackward(variable_list grads) override { return T::backward(&context_, std::move(grads)); }
};

/// Base of custom functions; T has static forward(AutogradContext*, ...) -> Tensor or variable_list, and backward.
template <class T>
struct Function {
  /// Runs T::forward on the arguments, and records a node that runs T::backward where an input requires grad.
  template <class... Args>
  static auto apply(Args&&... args) {
    return CppNode<T>::run(std::forward<Args>(args)...);
  }
};

namespace impl {

inline void extract(variable_list& inputs, std::vector<bool>& is_tensor, const Tensor& t) {
  inputs.push_back(t);
  is_tensor.push_back(true);
}
inline void extract(variable_list& inputs, std::vector<bool>& is_tensor, const std::optional<Tensor>& t) {
  extract(inputs, is_tensor, t.value_or(Tensor()));
}
inline void extract(variable_list& inputs, std::vector<bool>& is_tensor, TensorList list) {
  for (const Tensor& t : list) extract(inputs, is_tensor, t);
}
inline void extract(variable_list& inputs, std::vector<bool>& is_tensor, const variable_list& list) {
  extract(inputs, is_tensor, TensorList(list));
}
template <class A>
void extract(variable_list&, std::vector<bool>& is_tensor, const A&) {
  is_tensor.push_back(false);
}

inline variable_list toList(Tensor t) { return {std::move(t)}; }
inline variable_list toList(variable_list list) { return list; }
inline void fromList(variable_list&& from, Tensor& to) { to = std::move(from[0]); }
inline void fromList(variable_list&& from, variable_list& to) { to = std::move(from); }

}  // namespace impl

template <class T>
template <class... Args>
auto CppNode<T>::run(Args&&... args) {
  variable_list inputs;
  std::vector<bool> is_tensor;
  inputs.reserve(sizeof...(Args));
  is_tensor.reserve(sizeof...(Args));
  (impl::extract(inputs, is_tensor, args), ...);
  const bool record = compute_requires_grad(inputs);
  auto node = make_intrusive<CppNode<T>>();
  node->prepare(inputs, std::move(is_tensor), record);
  using Result = decltype(T::forward(&node->context_, std::forward<Args>(args)...));
  variable_list outputs;
  {
    AutoGradMode no_grad(false);
    outputs = impl::toList(T::forward(&node->context_, std::forward<Args>(args)...));
  }
  node->finish(inputs, outputs, record);
  Result result;
  impl::fromList(std::move(outputs), result);
  return result;
}

}  // namespace shunt::autograd
