// Custom autograd functions: the user writes forward and backward.
//
//   struct MyMul : shunt::autograd::Function<MyMul> {
//     static Tensor forward(AutogradContext* ctx, const Tensor& a, double k) {
//       ctx->saved_data["k"] = k;
//       return a * k;
//     }
//     static variable_list backward(AutogradContext* ctx, variable_list grads) {
//       // One gradient for each argument of forward.
//       return {grads[0] * ctx->saved_data["k"].toDouble(), Tensor()};
//     }
//   };
//   Tensor y = MyMul::apply(x, 2.0);
//
// forward runs without recording. The node owns the context. Two threads must not run one node's backward at once.
// - An output that is an argument, or a view of one, becomes a view for autograd. Changing the output or its base in
//   place is an error, because the function's backward would be lost.
// - An argument that forward changes in place must be passed to mark_dirty and returned.
#pragma once

#include <shunt/autograd/saved_variable.h>
#include <shunt/autograd/variable_utils.h>
#include <shunt/core/ivalue.h>

#include <initializer_list>
#include <map>
#include <set>

namespace shunt::autograd {

/// Carries data from forward to backward, and what forward declares about its inputs and outputs. Lives as long as the
/// node.
class SHUNT_API AutogradContext {
 public:
  AutogradContext() = default;
  AutogradContext(const AutogradContext&) = delete;
  AutogradContext& operator=(const AutogradContext&) = delete;

  /// Values other than forward's inputs and outputs. Tensors of the graph belong in save_for_backward.
  std::map<std::string, IValue> saved_data;

  /// Saves the inputs and outputs of forward that backward needs. A second call replaces the first one's list.
  void save_for_backward(variable_list to_save) { to_save_ = std::move(to_save); }
  /// The saved tensors, in order. Throws when one was changed in place since, or when backward has freed them.
  variable_list get_saved_variables() const;
  /// Names the inputs that forward changed in place. apply() throws unless forward returns them. Each input's version
  /// is incremented, whether or not the call is recorded.
  void mark_dirty(const variable_list& inputs);
  /// Names outputs that no gradient flows through. backward gets zeros or
  /// undefined tensors for them (set_materialize_grads).
  void mark_non_differentiable(const variable_list& outputs);
  /// For outputs without a gradient, backward gets zeros (true, the default) or undefined tensors (false).
  void set_materialize_grads(bool on) { materialize_grads_ = on; }
  /// Whether backward must compute the gradient of forward's i-th tensor argument; other arguments are not counted.
  bool needs_input_grad(size_t i) const { return node_ != nullptr && node_->task_should_compute_output(i); }
  /// Whether backward must compute any gradient of the ranges, each of which is [first, last).
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

/// The part of a custom function's node that does not depend on the function.
struct SHUNT_API CustomNode : public Node {
  using Node::Node;
  variable_list apply(variable_list&& grads) override;
  void release_variables() override;

 protected:
  virtual variable_list callBackward(variable_list grads) = 0;
  /// prepare() runs before forward and notes which arguments are tensors; finish() gives the outputs their history.
  void prepare(const variable_list& inputs, std::vector<bool> is_tensor, bool record);
  void finish(const variable_list& inputs, variable_list& outputs, bool record);

  AutogradContext context_;
  std::vector<bool> is_tensor_argument_;

 private:
  /// Increments the versions of dirty inputs. Throws when forward did not return one.
  void countDirty(const variable_list& inputs, const variable_list& outputs) const;
  bool isDifferentiable(const Tensor& output) const;
  /// Gives the output its history. Returns whether gradients flow through it.
  bool finishOutput(Tensor& output, const variable_list& inputs, bool record);
  void save();
};

/// The node of a custom function T.
template <class T>
struct CppNode final : public CustomNode {
  using CustomNode::CustomNode;
  /// Runs T::forward on the arguments and records the node.
  template <class... Args>
  static auto run(Args&&... args);

 private:
  variable_list callBackward(variable_list grads) override { return T::backward(&context_, std::move(grads)); }
};

/// Base class of custom functions. T has static members forward(AutogradContext*, ...), which returns a Tensor or a
/// variable_list, and backward(AutogradContext*, variable_list).
template <class T>
struct Function {
  /// Runs T::forward on the arguments. Records a node that runs T::backward if a tensor among them requires grad.
  template <class... Args>
  static auto apply(Args&&... args) {
    return CppNode<T>::run(std::forward<Args>(args)...);
  }
};

namespace impl {

// For each argument of forward: appends its tensors to `inputs`, and to `is_tensor` an entry for each tensor or other
// argument. CppNode::run calls it.
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

// Conversions between forward's result type and the list that CustomNode::finish works on.
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
