// Library::drain(): when it returns, nobody runs the library's kernels and nothing holds their functors.
#include <shunt/shunt.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace {

using namespace shunt;
using testing::HasSubstr;

SHUNT_LIBRARY(drains, m) {
  m.def("f(Tensor self) -> Tensor");
  m.def("g(Tensor self) -> Tensor");
}

auto op(const char* name) { return Dispatcher::singleton().findSchemaOrThrow(name).typed<Tensor(const Tensor&)>(); }

std::atomic<int> alive{0}, inside{0};

/// A kernel whose functor, like one of a library that goes, must not be touched after drain().
struct Counted {
  Counted() { alive.fetch_add(1); }
  Counted(const Counted&) { alive.fetch_add(1); }
  ~Counted() { alive.fetch_sub(1); }
  Tensor operator()(const Tensor& self) const {
    inside.fetch_add(1);
    std::this_thread::yield();
    EXPECT_GT(alive.load(), 0);
    inside.fetch_sub(1);
    return self;
  }
};

TEST(Drain, LeavesNobodyInsideAndNothingBehind) {
  const Tensor x = ones({2});
  std::atomic<bool> stop{false};
  std::atomic<int64_t> calls{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 3; ++t)
    callers.emplace_back([&] {
      while (!stop) try {
          op("drains::f").call(x);
          calls.fetch_add(1);
        } catch (const Error&) {  // there is no kernel just now
        }
    });
  for (int round = 0; round < 200; ++round) {
    Library library(Library::Kind::kImpl, "drains", DispatchKey::CPU);
    library.impl("f", Counted());
    for (const int64_t from = calls.load(); calls.load() < from + 5;) std::this_thread::yield();
    library.drain();
    ASSERT_EQ(inside.load(), 0);
    ASSERT_EQ(alive.load(), 0) << "somebody holds a functor";
  }
  stop = true;
  for (std::thread& t : callers) t.join();
}

TEST(Drain, InsideACallIsAnErrorAndChangesNothing) {
  const Tensor x = ones({2});
  Library library(Library::Kind::kImpl, "drains", DispatchKey::CPU);
  library.impl("f", [&library](const Tensor& self) {
    library.drain();
    return self;
  });
  for (int i = 0; i < 2; ++i) try {
      op("drains::f").call(x);
      ADD_FAILURE() << "no error";
    } catch (const Error& e) {
      EXPECT_THAT(e.what(), HasSubstr("Library::drain: this thread is inside a call of its own"));
    }
  {
    Dispatcher::Batch batch;
    EXPECT_THROW(library.drain(), Error);
  }
  library.drain();
  EXPECT_THROW(op("drains::f").call(x), Error);
}

TEST(Drain, DoesNotWaitForCallsThatBeganLater) {
  const Tensor x = ones({2});
  Library library(Library::Kind::kImpl, "drains", DispatchKey::CPU), other(Library::Kind::kImpl, "drains", DispatchKey::CPU);
  library.impl("f", Counted());
  op("drains::f").call(x);
  std::atomic<bool> entered{false}, leave{false};
  other.impl("g", [&](const Tensor& self) {
    entered = true;
    while (!leave) std::this_thread::yield();
    return self;
  });
  library.reset();
  Dispatcher::singleton().reclaim();  // nothing that was retired so far is left to wait for
  std::thread caller([&] { op("drains::g").call(x); });
  while (!entered) std::this_thread::yield();
  library.drain();
  EXPECT_FALSE(leave.load());
  leave = true;
  caller.join();
}

TEST(Drain, TheSignatureIsOneOfAKernelThatIsStillThere) {
  Library first(Library::Kind::kImpl, "drains", DispatchKey::CPU), second(Library::Kind::kImpl, "drains", DispatchKey::Meta);
  first.impl("f", [](const Tensor& self) { return self; });
  second.impl("f", [](const Tensor& self) { return self; });
  first.drain();
  EXPECT_NO_THROW(op("drains::f"));
  try {
    first.impl("f", [](const Tensor& self, int64_t) { return self; });
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("mismatch between the C++ signatures"));
    EXPECT_THAT(e.what(), HasSubstr("drain_test.cpp:"));
  }
}

}  // namespace
