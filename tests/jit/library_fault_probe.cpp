// A program with a library whose kernels are inlined, where LLVM's maps of strings get no memory (faults_preload.cpp)
// from a moment on: prints whether results are right and the library could be unloaded. Ends by a signal if it is kept
// waiting.
//
//   library_fault_probe <library> loaded | compiled | never
#include <shunt/jit/cache.h>
#include <shunt/jit/jit.h>
#include <shunt/jit/kernel_library.h>
#include <shunt/shunt.h>

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

using namespace shunt;

namespace {

SHUNT_LIBRARY(own, m) {
  m.def("scale(Tensor self) -> Tensor");
  m.def("wait(Tensor self) -> Tensor");
  m.def("drain(Tensor self) -> Tensor");
}

/// Calls until the pair is compiled, on whatever thread, or refused.
template <class Call>
bool repeat(const Call& call, float expected) {
  for (int i = 0; i < 20; ++i) {
    if (call().template data_ptr<float>()[7] != expected) return false;
    jit::wait_idle();
  }
  return true;
}

}  // namespace

int main(int, char** argv) {
  alarm(60);
  const std::string_view when = argv[2];
  const auto refuse = [&](std::string_view now) {
    if (when == now) setenv("SHUNT_FAULT", now == "loaded" ? "tables" : "small-tables", 1);
  };
  const Tensor x = arange(100, kFloat);
  try {
    jit::cache_entries("/nonexistent");  // loads the compiler, which needs such maps itself
  } catch (const Error&) {
  }
  refuse("loaded");
  bool good = repeat([&] { return x.add(x); }, 14);
  refuse("compiled");
  void* plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) return std::puts(dlerror()), 2;
  reinterpret_cast<void (*)()>(dlsym(plugin, "plugin_load"))();
  const auto scale = Dispatcher::singleton().findSchemaOrThrow("own::scale").typed<Tensor(const Tensor&)>();
  good &= repeat([&] { return scale.call(x); }, 22);
  good &= repeat([&] { return x.mul(x); }, 49);
  const auto libraries = jit::kernel_libraries().size();
  dlclose(plugin);
  std::printf("good=%d libraries=%zu then=%zu thunks=%d\n", good, libraries, jit::kernel_libraries().size(),
              jit::calls_in_thunks() > 0);
}
