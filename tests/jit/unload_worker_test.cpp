// Libraries that come and go while the compiler's thread is at work on their kernels: every call gets the result of the
// library that is loaded. A program of its own, because switches are read once.
#include <shunt/jit/jit.h>
#include <shunt/jit/kernel_library.h>
#include <shunt/shunt.h>

#include <gtest/gtest.h>

#include <dlfcn.h>

#include <chrono>

namespace {

using namespace shunt;
using Clock = std::chrono::steady_clock;

SHUNT_LIBRARY(own, m) {
  m.def("scale(Tensor self) -> Tensor");
  m.def("wait(Tensor self) -> Tensor");
  m.def("drain(Tensor self) -> Tensor");
}

TEST(UnloadWorker, CompilesInFlightAreDroppedOrInForce) {
  const Tensor x = arange(64, kFloat);
  const auto scale = Dispatcher::singleton().findSchemaOrThrow("own::scale").typed<Tensor(const Tensor&)>();
  int wrong = 0;
  for (int round = 0; round < 150; ++round) {
    void* library = dlopen(round % 2 == 0 ? PLUGIN_3 : PLUGIN_5, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    reinterpret_cast<void (*)()>(dlsym(library, "plugin_load"))();
    // From no time at all to more than a compile takes.
    const auto until = Clock::now() + std::chrono::microseconds(round * 997 % 40000);
    do wrong += scale.call(x).data_ptr<float>()[5] != (round % 2 == 0 ? 16.f : 26.f);
    while (Clock::now() < until);
    dlclose(library);
  }
  EXPECT_EQ(wrong, 0);
  jit::wait_idle();
  EXPECT_TRUE(jit::kernel_libraries().empty());
  EXPECT_GT(jit::stats().outdated, 0u) << "no library went under a compile";
  EXPECT_EQ(jit::stats().failed, 0u);

  // And one that stays is compiled.
  jit::clear();
  ASSERT_NE(dlopen(PLUGIN_3, RTLD_NOW | RTLD_LOCAL), nullptr) << dlerror();
  reinterpret_cast<void (*)()>(dlsym(dlopen(PLUGIN_3, RTLD_NOW), "plugin_load"))();
  const uint64_t before = jit::calls_in_thunks();
  for (int i = 0; i < 1000 && jit::calls_in_thunks() == before; ++i) {
    EXPECT_EQ(scale.call(x).data_ptr<float>()[5], 16.f);
    jit::wait_idle();
  }
  EXPECT_GT(jit::calls_in_thunks(), before) << jit::statsTable();
}

}  // namespace
