// Compiles a pair, for tests of libraries that were edited or packed: prints from where libshunt was loaded and how
// many pairs were compiled; fails where none was. The environment asks for compiling at the first call.
#include <shunt/shunt.h>

#include <dlfcn.h>
#include <cstdio>

int main() {
  shunt::Tensor x = shunt::ones({16});
  for (int i = 0; i < 4; ++i) x = x + 1;
  const shunt::Tensor a = shunt::ones({64, 64});  // a product loads OpenBLAS
  Dl_info library{};
  dladdr(reinterpret_cast<const void*>(&shunt::Dispatcher::singleton), &library);
  const auto compiled = shunt::jit::stats().compiled;
  std::printf("%s: %lld compiled\n", library.dli_fname, static_cast<long long>(compiled));
  const bool right = x.select(0, 3).item<float>() == 5.0f && a.mm(a).select(0, 5).select(0, 5).item<float>() == 64.0f;
  if (!right) std::puts("a result is wrong");
  return right && compiled > 0 ? 0 : 1;
}
