// exit_program <calls>: calls one operator that often and returns at once, whatever the compiler's thread is doing.
#include <shunt/shunt.h>

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const shunt::NoGradGuard no_grad;
  const shunt::Tensor a = shunt::ones({16}), b = shunt::ones({16});
  shunt::Tensor c;
  for (int n = std::atoi(argv[1]); n > 0; --n) c = shunt::add(a, b);
  if (c[0].item<float>() == 2.0f) return 0;
  std::fputs("wrong sum\n", stderr);
  return 3;
}
