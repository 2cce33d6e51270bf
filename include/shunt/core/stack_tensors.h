// Visits or replaces the tensors among a boxed call's arguments or returns, also in lists. For fallbacks, modes and
// wrapper tensors. Pure functions of the caller's stack; any thread.
#pragma once

#include <shunt/core/ivalue.h>

namespace shunt {

/// Calls f(const Tensor&) for every defined tensor in a value, in order.
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

/// The value with each defined tensor t replaced by f(t), which takes const Tensor& and returns Tensor. Lists are
/// copied: the caller's list doesn't change.
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
