// TensorSubclass: a tensor of the user's own class, which handles every operator that is called with it.
//
//   struct LoggingTensor : shunt::TensorSubclass {
//     using TensorSubclass::TensorSubclass;
//     void handle(const shunt::OperatorHandle& op, shunt::Stack* stack) override {
//       std::cout << op.operator_name() << '\n';
//       shunt::call_unwrapped<LoggingTensor>(op, stack);
//     }
//   };
//   shunt::Tensor x = shunt::wrap<LoggingTensor>(shunt::randn({3, 4}));
//   shunt::Tensor y = x + 1;                       // prints aten::add.Scalar; y is a LoggingTensor
//
// Owned by reference count as any TensorImpl; as safe among threads as the tensors that it holds.
//
// Note [Tensor subclasses]
// A subclass is a *wrapper*: it has a shape, a dtype and a device, but no data, and its keys are Python, which brings
// every call to handle(), and PythonTLSSnapshot right below, which is a clear error: no kernel ever meets a wrapper. It
// is the last thing that Python's fallback asks: first come the thread's dispatch modes, from the innermost to the
// outermost, which see the wrapper itself; then the class of the first wrapper among the arguments (lists included)
// that accepts() the call. In handle() nothing is switched off: it takes the wrappers apart and calls operators on what
// they hold, which again may be wrappers of other classes. A wrapper has no graph. Autograd records on the tensors
// inside, since the operators that it sees are the ones that handle() calls; requires_grad_, grad, grad_fn, backward
// and the like of the wrapper are those of graph_tensor(), the inner tensor, and a gradient is a plain tensor. Backward
// formulas run on plain tensors, so they don't meet the class; a dispatch mode sees them.
#pragma once

#include <shunt/core/function_ref.h>
#include <shunt/core/ivalue.h>
#include <shunt/core/op_state.h>

#include <string>

namespace shunt {

class SHUNT_API TensorSubclass : public TensorImpl {
 public:
  /// A wrapper that looks like `inner`: shape, strides, dtype and device are its own, also after it is changed in
  /// place. Throws on an undefined tensor.
  explicit TensorSubclass(Tensor inner);
  /// One that looks as told: contiguous, of these sizes, and of the options' dtype and device. For classes that hold
  /// something else than one tensor of their shape. `inner`, where given, holds the graph.
  TensorSubclass(IntArrayRef sizes, const TensorOptions& options, Tensor inner = {});
  ~TensorSubclass() override;

  /// `stack`: the arguments as the operator was called, complete, in the schema's order. To be replaced by the returns,
  /// which are checked as a DispatchMode's. An in-place or out= operator has to return the very tensor that it was
  /// given. What it throws, the caller gets.
  virtual void handle(const OperatorHandle& op, Stack* stack) = 0;
  /// Declines a call, before handle() is asked, in favour of the next wrapper's class. When all decline, the call is an
  /// error.
  virtual bool accepts(const OperatorHandle& op, const Stack& stack) const;
  /// For messages and printing; the class's name by default.
  virtual std::string name() const;
  /// What Tensor::toString() gives: "name(inner)" by default.
  virtual std::string toString() const;

  /// Undefined where the class holds something else.
  const Tensor& inner() const { return inner_; }
  const Tensor* graph_tensor() const override { return inner_.defined() ? &inner_ : nullptr; }

  /// Takes shape, strides and dtype over from the inner tensor, where the wrapper looks like it: after an in-place
  /// operator on that.
  void follow_inner();
  /// Makes this wrapper an alias of another, as is_alias_of() sees it: for results of view operators.
  void alias_with(const TensorSubclass& base);

 protected:
  void release_resources() override;

 private:
  Tensor inner_;
  bool looks_like_inner_;
};

/// The wrapper behind a tensor; null when it is a tensor of another kind, or undefined.
template <class T>
T* wrapper_cast(const Tensor& t) {
  TensorImpl* impl = t.unsafeGetTensorImpl();
  return impl != nullptr && impl->key_set().has(Functionality::Python) ? dynamic_cast<T*>(impl) : nullptr;
}

/// A new wrapper of class T.
template <class T, class... Args>
Tensor wrap(Args&&... args) {
  return Tensor(make_intrusive<T>(std::forward<Args>(args)...));
}

/// The inner tensor of a T; every other tensor as it is.
template <class T>
Tensor unwrap(const Tensor& t) {
  const T* wrapper = wrapper_cast<T>(t);
  return wrapper != nullptr ? wrapper->inner() : t;
}

namespace detail {
SHUNT_API void callUnwrapped(const OperatorHandle& op, Stack* stack, FunctionRef<TensorSubclass*(const Tensor&)> mine,
                             FunctionRef<Tensor(const Tensor&)> wrap);
}  // namespace detail

/// What most handlers do: puts the inner tensors in the place of the arguments of class T, calls the operator, and
/// gives each tensor that it returns to `make` (const Tensor& -> Tensor). An argument that comes back (in-place, out=,
/// a view operator that had nothing to do) is returned as the wrapper that was given, with its shape as it is now; a
/// view's wrapper aliases its base's.
template <class T, class Make>
void call_unwrapped(const OperatorHandle& op, Stack* stack, Make&& make) {
  detail::callUnwrapped(op, stack, [](const Tensor& t) -> TensorSubclass* { return wrapper_cast<T>(t); }, make);
}
template <class T>
void call_unwrapped(const OperatorHandle& op, Stack* stack) {
  call_unwrapped<T>(op, stack, [](const Tensor& t) { return wrap<T>(t); });
}

}  // namespace shunt
