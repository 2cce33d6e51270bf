// TensorSubclass: a user-defined class of tensors that handles every operator called with one of them.
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
// Owned by reference count, as any TensorImpl. It is as thread-safe as the tensors that it holds.
//
// Note [Tensor subclasses]
// A subclass is a *wrapper*: it has a shape, a dtype and a device, but no data. It has two keys. Python brings every
// call to handle(). PythonTLSSnapshot, right below, throws an error for calls that bypassed Python. So no kernel ever
// gets a wrapper.
//   - Python's fallback asks the thread's dispatch modes first, from the innermost to the outermost; they see the
//     wrapper itself. Then it asks the class of the first wrapper among the arguments (also in lists) that accepts()
//     the call.
//   - In handle() nothing is switched off. The handler takes the wrappers apart, and calls operators on what they hold,
//     which may again be wrappers of other classes.
//   - A wrapper has no graph. Autograd records the operators that handle() calls, on the tensors inside.
//     requires_grad_, grad, grad_fn, backward and the like of a wrapper are those of graph_tensor(), the inner tensor.
//     A gradient is a plain tensor.
//   - Backward formulas run on plain tensors, so the class doesn't see them; a dispatch mode does.
#pragma once

#include <shunt/core/function_ref.h>
#include <shunt/core/ivalue.h>
#include <shunt/core/op_state.h>

#include <string>

namespace shunt {

class SHUNT_API TensorSubclass : public TensorImpl {
 public:
  /// A wrapper with the shape, strides, dtype and device of `inner`; follow_inner() updates them after an in-place
  /// change. Throws if `inner` is undefined.
  explicit TensorSubclass(Tensor inner);
  /// A contiguous wrapper with these sizes, and the dtype and device of `options`. For classes that hold something else
  /// than one tensor of their shape. `inner`, if given, has the graph.
  TensorSubclass(IntArrayRef sizes, const TensorOptions& options, Tensor inner = {});
  ~TensorSubclass() override;

  /// Handles one call. `stack` has the arguments with which the operator was called, complete, in the schema's order.
  /// The handler replaces them by the returns. Their number and types are checked as DispatchMode::handle() says. An
  /// in-place or out= operator must return the wrapper that it was given. Exceptions go to the caller.
  virtual void handle(const OperatorHandle& op, Stack* stack) = 0;
  /// Called before handle(). False passes the call to the class of the next wrapper. If all decline, the call is an
  /// error.
  virtual bool accepts(const OperatorHandle& op, const Stack& stack) const;
  /// The name in messages and printed text; by default the name of the C++ class.
  virtual std::string name() const;
  /// The result of Tensor::toString(); "name(inner)" by default.
  virtual std::string toString() const;

  /// The tensor that it wraps; undefined if the class holds something else.
  const Tensor& inner() const { return inner_; }
  const Tensor* graph_tensor() const override { return inner_.defined() ? &inner_ : nullptr; }

  /// Takes shape, strides and dtype from the inner tensor, after an in-place operator on that. Does nothing for
  /// wrappers that were made with sizes.
  void follow_inner();
  /// Makes this wrapper an alias of `base` for is_alias_of(). For results of view operators.
  void alias_with(const TensorSubclass& base);

 protected:
  void release_resources() override;

 private:
  Tensor inner_;
  bool looks_like_inner_;
};

/// The wrapper of class T behind a tensor; null if the tensor is another one, or undefined. The tensor owns it.
template <class T>
T* wrapper_cast(const Tensor& t) {
  TensorImpl* impl = t.unsafeGetTensorImpl();
  return impl != nullptr && impl->key_set().has(Functionality::Python) ? dynamic_cast<T*>(impl) : nullptr;
}

/// A new wrapper, T(args...).
template <class T, class... Args>
Tensor wrap(Args&&... args) {
  return Tensor(make_intrusive<T>(std::forward<Args>(args)...));
}

/// The inner tensor of a T; any other tensor unchanged.
template <class T>
Tensor unwrap(const Tensor& t) {
  const T* wrapper = wrapper_cast<T>(t);
  return wrapper != nullptr ? wrapper->inner() : t;
}

namespace detail {
SHUNT_API void callUnwrapped(const OperatorHandle& op, Stack* stack, FunctionRef<TensorSubclass*(const Tensor&)> mine,
                             FunctionRef<Tensor(const Tensor&)> wrap);
}  // namespace detail

/// What most handlers do: replaces arguments of class T by their inner tensors, calls the operator, and passes each
/// tensor that it returns to `make` (const Tensor& -> Tensor). If an argument is returned (in-place, out=, a view
/// operator with nothing to do), the result is the wrapper that was given, with its current shape. The wrapper of a
/// view aliases that of its base. Throws if a T has no inner tensor.
template <class T, class Make>
void call_unwrapped(const OperatorHandle& op, Stack* stack, Make&& make) {
  detail::callUnwrapped(op, stack, [](const Tensor& t) -> TensorSubclass* { return wrapper_cast<T>(t); }, make);
}
template <class T>
void call_unwrapped(const OperatorHandle& op, Stack* stack) {
  call_unwrapped<T>(op, stack, [](const Tensor& t) { return wrap<T>(t); });
}

}  // namespace shunt
