// Uses the installed library from outside: the README's example, an error thrown inside libshunt.so that is caught here
// by its type, a product that loads OpenBLAS, and, where the environment has it compile at once, the compiler. An
// argument is the version that is expected.
#include "functors.h"

#include <shunt/shunt.h>

#include <cstdio>
#include <cstdlib>
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

bool multiplies() {
  const shunt::Tensor a = shunt::arange(64 * 64, shunt::kFloat).view({64, 64}), b = shunt::eye(64, shunt::kFloat);
  return a.mm(b).equal(a) && shunt::mse_loss(a, a + 2, shunt::Reduction::Mean).item<float>() == 4.0f;
}

bool compilesWhereAsked() {
  const char* sync = std::getenv("SHUNT_JIT_SYNC");
  if (sync == nullptr || std::strcmp(sync, "1") != 0) return true;
  shunt::Tensor x = shunt::ones({16});
  for (int i = 0; i < 4; ++i) x = x + 1;
  return x.select(0, 3).item<float>() == 5.0f && shunt::jit::stats().compiled > 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], SHUNT_VERSION) != 0) return std::puts("the version is " SHUNT_VERSION), 1;
  if (!catchesErrors()) return std::puts("an error did not arrive as shunt::Error"), 1;
  if (!trains()) return std::puts("a gradient is wrong"), 1;
  if (!functorsWork()) return 1;
  if (!multiplies()) return std::puts("a product or a loss is wrong"), 1;
  if (!compilesWhereAsked()) return std::puts("nothing was compiled"), 1;
  std::puts("consumer: works");
  return 0;
}
