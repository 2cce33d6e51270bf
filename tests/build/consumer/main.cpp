// Uses the installed library from outside: the README's example, and an error thrown inside libshunt.so that is caught
// here by its type.
#include "functors.h"

#include <shunt/shunt.h>

#include <cstdio>
#include <cstring>

namespace {

bool catchesErrors() {
  try {
    SHUNT_CHECK(1 + 1 == 3, "sum is ", 2);
  } catch (const shunt::Error& error) {
    return std::strcmp(error.what(), "sum is 2") == 0;
  }
  return false;
}

bool trains() {
  shunt::Tensor x = shunt::ones({2, 3});
  x.requires_grad_();
  shunt::Tensor loss = (x * x + 1).sum();
  loss.backward();
  const shunt::Tensor grad = x.grad();
  for (int i = 0; i < 6; ++i) {
    if (grad.data_ptr<float>()[i] != 2.0f) return false;
  }
  return loss.item<float>() == 12.0f;
}

}  // namespace

int main() {
  if (!catchesErrors()) return std::puts("an error did not arrive as shunt::Error"), 1;
  if (!trains()) return std::puts("a gradient is wrong"), 1;
  if (!functorsWork()) return 1;
  std::puts("consumer: works");
  return 0;
}
