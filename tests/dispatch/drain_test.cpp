// Library::drain(): when it returns, nobody runs the library's kernels and nothing holds their functors. And reset(),
// for programs that call on one thread: when it returns, the compiler's thread doesn't hold them either.
#include <shunt/shunt.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

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
  Library library(Library::Kind::kImpl, "drains", DispatchKey::CPU),
      other(Library::Kind::kImpl, "drains", DispatchKey::CPU);
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
  Library first(Library::Kind::kImpl, "drains", DispatchKey::CPU),
      second(Library::Kind::kImpl, "drains", DispatchKey::Meta);
  first.impl("f", [](const Tensor& self) { return self; });
  second.impl("f", [](const Tensor& self) { return self; });
  first.drain();
  EXPECT_NO_THROW(op("drains::f"));
  try {
    first.impl("f", [](const Tensor& self, int64_t) { return self; });
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("Mismatch in kernel C++ signatures"));
    EXPECT_THAT(e.what(), HasSubstr("drain_test.cpp:"));
  }
}

/// A functor whose destruction, on whatever thread, waits for go.
struct Slow {
  struct Gate {
    std::atomic<bool> reached{false}, go{false};
  };
  explicit Slow(Gate& gate)
      : hold(&gate, [](Gate* g) {
          g->reached = true;
          while (!g->go) std::this_thread::yield();
        }) {}
  Tensor operator()(const Tensor& self) const { return self; }
  std::shared_ptr<Gate> hold;
};

/// Another thread that deletes states: held up at the first one, with a library's functor in another one behind it.
class Deleting {
 public:
  Deleting() {
    Dispatcher& dispatcher = Dispatcher::singleton();
    dispatcher.reclaim();
    const auto where = std::source_location::current();
    // Handles take registrations back without reclaiming.
    auto slow = dispatcher.registerImpl(OperatorName("drains::g", ""), DispatchKey::CPU,
                                        KernelFunction::fromFunctor(Slow(gate)), where);
    slow.release();
    library.impl("f", Counted());
    other.impl("f", [](const Tensor& self) { return self; });  // retires a state that has the library's functor
    thread = std::thread([&dispatcher] { dispatcher.reclaim(); });
    while (!gate.reached) std::this_thread::yield();
  }
  ~Deleting() {
    gate.go = true;
    thread.join();
  }

  Slow::Gate gate;
  Library library{Library::Kind::kImpl, "drains", DispatchKey::CPU},
      other{Library::Kind::kImpl, "drains", DispatchKey::Meta};
  std::thread thread;
};

TEST(Reset, WaitsForWhatAnotherThreadDeletes) {
  Deleting deleting;
  EXPECT_GT(alive.load(), 0);
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    deleting.gate.go = true;
  });
  deleting.library.reset();
  EXPECT_EQ(alive.load(), 0) << "the library's code may be gone by now, and another thread destroys its functor";
  later.join();
}

TEST(Reset, InsideACallWaitsToo) {
  Deleting deleting;
  Library calling(Library::Kind::kImpl, "drains", DispatchKey::CPU);
  calling.impl("g", [&](const Tensor& self) {
    deleting.gate.go = true;
    deleting.library.reset();
    EXPECT_EQ(alive.load(), 0);
    return self;
  });
  op("drains::g").call(ones({2}));
}

// A functor's destructor is what others wait for.
TEST(Reset, InsideAFunctorsDestructorDoesNotWaitForItself) {
  Library inner(Library::Kind::kImpl, "drains", DispatchKey::Meta),
      outer(Library::Kind::kImpl, "drains", DispatchKey::CPU);
  inner.impl("f", Counted());
  bool done = false;
  outer.impl("g", [hold = std::shared_ptr<void>(nullptr, [&](void*) {
                     inner.reset();
                     done = true;
                   })](const Tensor& self) { return self; });
  outer.reset();
  EXPECT_TRUE(done);
  Dispatcher::singleton().reclaim();
  EXPECT_EQ(alive.load(), 0);
}

// What a registration retired is deleted before listeners are told: they may wait for a thread that resets.
TEST(Reset, OnAnotherThreadThatAListenerWaitsFor) {
  struct Listener : OpRegistrationListener {
    void onOperatorRegistered(const OperatorHandle& op) override {
      if (active && op.operator_name().name.starts_with("drains::heard")) std::thread(resetOne).join();
    }
    void onOperatorDeregistered(const OperatorHandle& op) override { onOperatorRegistered(op); }
    static void resetOne() {
      Library library(Library::Kind::kImpl, "drains", DispatchKey::CPU);
      library.impl("f", Counted());
      library.reset();
      EXPECT_EQ(alive.load(), 0);
    }
    bool active = true;
  };
  const auto handle = Dispatcher::singleton().addRegistrationListener(std::make_unique<Listener>());
  for (int i = 0; i < 150; ++i) {  // states are collected now and then
    Library library(Library::Kind::kFragment, "drains");
    library.def("heard" + std::to_string(i) + "(Tensor self) -> Tensor");
  }
}

// Nobody in the child deletes what another thread was deleting in the parent.
TEST(Reset, InAChildOfForkWaitsForNobody) {
  Deleting deleting;
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    deleting.other.reset();
    Library(Library::Kind::kImpl, "drains", DispatchKey::Meta).drain();
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
}

}  // namespace
