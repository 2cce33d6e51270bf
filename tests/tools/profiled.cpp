// A program that shunt run and shunt profile start: prints the settings that it was given, and calls operators in
// operators, boxed and unboxed, by the hundred, in a compiled function and on two threads.
#include <shunt/shunt.h>

#include <cstdlib>
#include <iostream>
#include <thread>

using namespace shunt;

namespace {

/// Calls exp twice.
Tensor twiceExp(const Tensor& x) { return x.exp() + x.exp(); }

void printSettings(int argc, char** argv) {
  for (const char* name : {"SHUNT_JIT", "SHUNT_COMPILE", "SHUNT_TRACE", "SHUNT_STATS", "SHUNT_NUM_THREADS", "SHUNT_LOG",
                           "SHUNT_JIT_CACHE", "SHUNT_ISA"})
    if (const char* value = std::getenv(name)) std::cout << name << '=' << value << '\n';
  for (int i = 1; i < argc; ++i) std::cout << "argument " << argv[i] << '\n';
}

void callOperators() {
  const Tensor x = ones({8});
  const auto op = Dispatcher::singleton().findSchemaOrThrow("profiled::twice_exp", "");
  const auto typed = op.typed<Tensor(const Tensor&)>();
  for (int i = 0; i < 4; ++i) typed.call(x);
  for (int i = 0; i < 2; ++i) {
    Stack stack{x};
    op.callBoxed(&stack);
  }
  for (int i = 0; i < 1000; ++i) x.neg();
  const auto compiled = compile([](const Tensor& t) { return t.sigmoid().cos(); });
  for (int i = 0; i < 5; ++i) compiled(x);
  std::thread([] {
    const Tensor y = ones({8});
    for (int i = 0; i < 7; ++i) y.sin();
  }).join();
}

}  // namespace

SHUNT_LIBRARY(profiled, m) { m.def("twice_exp(Tensor x) -> Tensor"); }
SHUNT_LIBRARY_IMPL(profiled, CPU, m) { m.impl("twice_exp", &twiceExp); }

int main(int argc, char** argv) {
  printSettings(argc, argv);
  callOperators();
  return argc > 1 ? std::atoi(argv[1]) : 0;
}
