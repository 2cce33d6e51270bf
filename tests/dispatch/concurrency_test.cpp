// Calls on four threads while a fifth registers, overrides and deregisters: no race, and only results that the order of
// registrations allows.
#include "tests/dispatch/util.h"

#include <atomic>
#include <thread>

namespace shunt {
namespace {

using namespace test;

constexpr int64_t kCalls = 1'000'000;
constexpr int kCallers = 4;

// Version n of the kernel answers n. `lowest` is raised after a registration returned: a call that starts later must
// not answer less. `highest` is raised before one begins: no call may answer more.
TEST(Concurrency, EveryResultIsOneThatTheOrderOfRegistrationsAllows) {
  Library def = fragment("conc");
  def.def("f(Tensor x) -> int");
  Library base = implBlock("conc", DispatchKey::CPU);
  base.impl("f", [](const Tensor&) -> int64_t { return 0; });
  Library wrapper = implBlock("conc", DispatchKey::Tracer);
  wrapper.impl("f", [](DispatchKeySet ks, const Tensor& x) -> int64_t {
    return findOp("conc::f").typed<int64_t(const Tensor&)>().redispatch(
        ks & DispatchKeySet::fullAfter(DispatchKey::Tracer), x);
  });
  const auto op = findOp("conc::f").typed<int64_t(const Tensor&)>();

  std::atomic<int64_t> lowest{0}, highest{0};
  std::atomic<bool> stop{false};
  std::atomic<int64_t> wrong{0};
  auto call = [&](int id) {
    const Tensor x = cpuTensor();
    std::optional<IncludeDispatchKeyGuard> through_wrapper;
    if (id % 2 == 1) through_wrapper.emplace(DispatchKey::Tracer);
    for (int64_t i = 0; i < kCalls / kCallers; ++i) {
      const int64_t at_least = lowest.load(std::memory_order_acquire);
      const int64_t got = op.call(x);
      const int64_t at_most = highest.load(std::memory_order_acquire);
      if (got < at_least || got > at_most) wrong.fetch_add(1);
    }
  };
  std::thread registrar([&] {
    std::optional<Library> current;
    for (int64_t n = 1; !stop.load(); ++n) {
      highest.store(n, std::memory_order_release);
      Library next = implBlock("conc", DispatchKey::CPU);
      next.impl("f", [n](const Tensor&) -> int64_t { return n; });
      lowest.store(n, std::memory_order_release);
      current.emplace(std::move(next));  // takes the one before back: n stays in force
    }
  });
  std::vector<std::thread> callers;
  for (int id = 0; id < kCallers; ++id) callers.emplace_back(call, id);
  for (std::thread& t : callers) t.join();
  stop = true;
  registrar.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_GT(highest.load(), 10) << "the registrar has to have been busy meanwhile";
  Dispatcher::singleton().reclaim();
  EXPECT_EQ(Dispatcher::singleton().stats().states_retired, 0u);
  Dispatcher::singleton().checkInvariants();
}

TEST(Concurrency, ThreadsRecycleTheirFrames) {
  Library def = fragment("conc2");
  def.def("f(Tensor x) -> int", [](const Tensor&) -> int64_t { return 1; });
  const auto op = findOp("conc2::f").typed<int64_t(const Tensor&)>();
  const detail::Frames* frames = nullptr;
  for (int i = 0; i < 100; ++i) {
    const detail::Frames* used = nullptr;
    std::thread([&] {
      op.call(cpuTensor());
      used = detail::tls_state.frames;
    }).join();
    if (frames == nullptr) frames = used;
    EXPECT_EQ(frames, used);
  }
}

TEST(Concurrency, DeepRecursionUsesChainedFrames) {
  Library def = fragment("conc3");
  def.def("f(Tensor x, int n) -> int", [](const Tensor& x, int64_t n) -> int64_t {
    return n == 0 ? 0 : 1 + findOp("conc3::f").typed<int64_t(const Tensor&, int64_t)>().call(x, n - 1);
  });
  EXPECT_EQ((findOp("conc3::f").typed<int64_t(const Tensor&, int64_t)>().call(cpuTensor(), 1000)), 1000);
  EXPECT_EQ(detail::threadFrames().depth(), 0);
}

TEST(Concurrency, FramesAreGivenBackWhenAKernelThrows) {
  Library def = fragment("conc4");
  def.def("f(Tensor x) -> int", [](const Tensor&) -> int64_t { throw std::runtime_error("from the kernel"); });
  const auto op = findOp("conc4::f").typed<int64_t(const Tensor&)>();
  EXPECT_THROW(op.call(cpuTensor()), std::runtime_error);
  EXPECT_EQ(detail::threadFrames().depth(), 0);
  EXPECT_EQ(detail::threadFrames().innermost(), nullptr);
}

}  // namespace
}  // namespace shunt
