// The tensors of a boxed call: those among its arguments or returns, in lists too. What fallbacks, modes and wrapper
// tensors read and replace. Pure functions of the caller's stack.
#pragma once

#include <shunt/core/ivalue.h>

namespace shunt {

/// f(const Tensor&) for every defined tensor in a value, in order.
template <class F>
void forEachTensor(const IValue& value, F&& f) {
  switch (value.tag()) {
    case IValue::Tag::Tensor:
      if (value.toTensor().defined()) f(value.toTensor());
      return;
    case IValue::Tag::TensorList:
      for (const Tensor& t : value.toTensorVector())
        if (t.defined()) f(t);
      return;
    case IValue::Tag::OptionalTensorList:
      for (const std::optional<Tensor>& t : value.toOptionalTensorVector())
        if (t && t->defined()) f(*t);
      return;
    default:
      return;
  }
}

/// The same for the last `n` values of a stack.
template <class F>
void forEachTensor(const Stack& stack, size_t n, F&& f) {
  for (size_t i = stack.size() - n; i < stack.size(); ++i) forEachTensor(stack[i], f);
}

/// The same for all values of a stack.
template <class F>
void forEachTensor(const Stack& stack, F&& f) {
  forEachTensor(stack, stack.size(), f);
}

/// The value with f(const Tensor&) -> Tensor in the place of each defined tensor. A list is copied: the caller's stays
/// as it was.
template <class F>
IValue mapTensors(const IValue& value, F&& f) {
  switch (value.tag()) {
    case IValue::Tag::Tensor:
      return value.toTensor().defined() ? IValue(f(value.toTensor())) : value;
    case IValue::Tag::TensorList: {
      std::vector<Tensor> list = value.toTensorVector();
      for (Tensor& t : list)
        if (t.defined()) t = f(std::as_const(t));
      return IValue(std::move(list));
    }
    case IValue::Tag::OptionalTensorList: {
      std::vector<std::optional<Tensor>> list = value.toOptionalTensorVector();
      for (std::optional<Tensor>& t : list)
        if (t && t->defined()) t = f(std::as_const(*t));
      return IValue(std::move(list));
    }
    default:
      return value;
  }
}

/// The same for the last `n` values of a stack, in place.
template <class F>
void mapTensors(Stack& stack, size_t n, F&& f) {
  for (size_t i = stack.size() - n; i < stack.size(); ++i) stack[i] = mapTensors(stack[i], f);
}

}  // namespace shunt
