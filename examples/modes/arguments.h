// What the modes here read of a boxed call's arguments and returns.
#pragma once

#include <shunt/shunt.h>

#include <string>

namespace examples {

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
