// A process that gets no thread for the compiler: it asks once, however many calls are sampled afterwards.
#include <shunt/jit/budget.h>
#include <shunt/shunt.h>

#include <gtest/gtest.h>

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>

namespace {

std::atomic<bool> refuses{false};
std::atomic<int> refused{0};

}  // namespace

// In the place of the C library's for the whole process.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                              void* argument) {
  if (refuses) {
    ++refused;
    return EAGAIN;
  }
  static auto* const real = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  return real(thread, attributes, run, argument);
}

namespace shunt::jit {
namespace {

TEST(NoThread, IsAskedForOnce) {
  const Tensor x = ones({16});
  const auto call = [&](int times) {
    for (int i = 0; i < times; ++i) x.rsqrt();
  };
  set_num_threads(1);
  set_budget(0);
  call(2000);  // a pair waits
  ASSERT_GT(budget_stats().waiting, 0u);
  refuses = true;
  set_budget(100);  // the next sample looks
  call(20'000);
  EXPECT_EQ(refused, 1);
  set_budget(50);
  call(20'000);
  EXPECT_EQ(refused, 1);
  EXPECT_TRUE(x.rsqrt().equal(x));
}

}  // namespace
}  // namespace shunt::jit
