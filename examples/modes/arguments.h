// What the modes here read of a boxed call's arguments and returns.
#pragma once

#include <shunt/shunt.h>

#include <functional>
#include <ostream>
#include <string>

namespace examples {

/// f for every defined tensor on the stack, also those in lists.
inline void forEachTensor(const shunt::Stack& stack, const std::function<void(const shunt::Tensor&)>& f) {
  for (const shunt::IValue& v : stack) {
    if (v.isTensor() && v.toTensor().defined()) f(v.toTensor());
    if (v.isTensorList())
      for (const shunt::Tensor& t : v.toTensorVector())
        if (t.defined()) f(t);
  }
}

/// "[2, 3], [3]"
inline std::string shapesOf(const shunt::Stack& stack) {
  std::string text;
  forEachTensor(stack, [&](const shunt::Tensor& t) {
    text += text.empty() ? "[" : ", [";
    for (int64_t d = 0; d < t.dim(); ++d) text += (d == 0 ? "" : ", ") + std::to_string(t.size(d));
    text += "]";
  });
  return text;
}

/// Whether a floating-point tensor among them holds a NaN.
inline bool anyNaN(const shunt::Stack& stack) {
  bool found = false;
  forEachTensor(stack, [&](const shunt::Tensor& t) {
    found = found || (t.is_floating_point() && shunt::isnan(t).any().item<bool>());
  });
  return found;
}

}  // namespace examples
