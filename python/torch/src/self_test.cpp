#include "self_test.h"

#include <shunt/shunt.h>

namespace shunt_torch {

int64_t selfTest() {
  shunt::Tensor x = shunt::ones({16});
  for (int i = 0; i < 4; ++i) x = x + 1;
  const bool right = x.select(0, 3).item<float>() == 5.0f;
  return right ? static_cast<int64_t>(shunt::jit::stats().compiled) : -1;
}

}  // namespace shunt_torch
