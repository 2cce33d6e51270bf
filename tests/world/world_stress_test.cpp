// The protocol of include/shunt/core/world.h on the real machine: threads and a signal handler call several operators
// while another thread publishes, retires, reclaims, and poisons or deletes what was freed. Clean under TSan and ASan.
#include <gtest/gtest.h>

#include <pthread.h>
#include <signal.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <mutex>
#include <random>
#include <thread>

#include <shunt/core/tls.h>

namespace {

using shunt::detail::HardwarePlatform;

constexpr uint64_t kPoison = 0xdeaddeaddeaddead;

struct State {
  uint64_t generation = 0;
  uint64_t payload[6] = {};

  void fill(uint64_t g) {
    generation = g;
    for (uint64_t& p : payload) p = g * 0x9e3779b97f4a7c15;
  }
  bool intact() const {
    for (uint64_t p : payload)
      if (p != generation * 0x9e3779b97f4a7c15) return false;
    return generation != 0 && generation != kPoison;
  }
};

using Frames = shunt::world::ThreadFrames<HardwarePlatform, State>;

struct Operator {
  std::atomic<const State*> published{nullptr};
  std::atomic<uint64_t> returned{0};  // generation of the last publication that returned
};

struct Caller {
  Frames frames;
  uint64_t calls = 0, broken = 0, stale = 0;
  std::minstd_rand random;
};

constexpr int kOperators = 4, kCallers = 3;
Operator operators[kOperators];
thread_local Caller* this_caller = nullptr;

// One call of operator `op`, with calls inside while `nested` lasts.
void call(Caller& c, int op, int nested) {
  const uint64_t floor = operators[op].returned.load(std::memory_order_acquire);
  int depth;
  const State* s = c.frames.enter(operators[op].published, depth);
  const uint64_t generation = s->generation;
  c.stale += generation < floor;
  if (nested > 0) call(c, (op + nested) % kOperators, nested - 1);
  c.broken += !s->intact() || s->generation != generation || c.frames.innermost() != s;
  c.frames.leave(depth);
  ++c.calls;
}

void onSignal(int) {
  if (this_caller != nullptr) call(*this_caller, 1, 1);
}

// Freed states: every other one is deleted (ASan sees a late read), the rest are poisoned and their addresses used
// again.
class Pool {
 public:
  State* make(uint64_t generation) {
    State* s;
    if (free_.size() > 8) {
      s = free_.front().release();
      free_.erase(free_.begin());
    } else {
      s = new State;
    }
    s->fill(generation);
    return s;
  }
  void free(const State* s) {
    std::unique_ptr<State> owned(const_cast<State*>(s));
    if (++freed_ % 2 == 0) return;
    owned->generation = kPoison;
    for (uint64_t& p : owned->payload) p = kPoison;
    free_.push_back(std::move(owned));
  }
  uint64_t freed() const { return freed_; }

 private:
  std::vector<std::unique_ptr<State>> free_;
  uint64_t freed_ = 0;
};

TEST(WorldStress, CallsWhilePublishing) {
  ASSERT_TRUE(HardwarePlatform::barrierAll()) << "this kernel has no membarrier(PRIVATE_EXPEDITED)";
  struct sigaction action{};
  action.sa_handler = onSignal;
  ASSERT_EQ(sigaction(SIGUSR1, &action, nullptr), 0);

  Pool pool;
  uint64_t generation = 0, kept_rounds = 0;
  for (Operator& op : operators) op.published.store(pool.make(++generation), std::memory_order_release);

  Caller callers[kCallers];
  std::atomic<bool> stop{false};
  std::atomic<int> ready{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kCallers; ++i)
    threads.emplace_back([&, i] {
      Caller& c = callers[i];
      c.random.seed(static_cast<unsigned>(i + 1));
      call(c, 0, 63);  // a handler must find its frames made: it may not allocate
      this_caller = &c;
      ready.fetch_add(1);
      while (!stop.load(std::memory_order_relaxed)) {
        const unsigned r = static_cast<unsigned>(c.random());
        const int nested = r % 64 == 0 ? 40 : static_cast<int>(r % 3);
        call(c, static_cast<int>(r >> 8) % kOperators, nested);
      }
      this_caller = nullptr;
    });
  while (ready.load() != kCallers) std::this_thread::yield();

  shunt::world::Reclaimer<HardwarePlatform, State> reclaimer;
  const auto reclaim = [&] {
    return reclaimer.reclaim(
        [&](auto&& visit) {
          for (const Caller& c : callers) visit(c.frames);
        },
        [&](const State* s) { pool.free(s); });
  };
  std::minstd_rand random(7);
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(2500);
  while (std::chrono::steady_clock::now() < end) {
    Operator& op = operators[random() % kOperators];
    reclaimer.publish(op.published, pool.make(++generation));
    op.returned.store(generation, std::memory_order_release);
    if (random() % 2 == 0) {
      reclaim();
      kept_rounds += reclaimer.retiredCount() != 0;
    }
    if (random() % 16 == 0) pthread_kill(threads[random() % kCallers].native_handle(), SIGUSR1);
  }
  stop.store(true);
  for (std::thread& t : threads) t.join();
  signal(SIGUSR1, SIG_DFL);
  reclaim();

  uint64_t calls = 0, broken = 0, stale = 0;
  for (const Caller& c : callers) {
    calls += c.calls;
    broken += c.broken;
    stale += c.stale;
    EXPECT_EQ(c.frames.depth(), 0);
  }
  std::printf("%lu calls, %lu publications, %lu freed, %lu reclaims that kept some\n", calls, generation, pool.freed(),
              kept_rounds);
  EXPECT_EQ(broken, 0u) << "calls whose state changed or was freed under them";
  EXPECT_EQ(stale, 0u) << "calls that ran what had been replaced before they began";
  EXPECT_EQ(reclaimer.retiredCount(), 0u);
  EXPECT_EQ(pool.freed(), generation - kOperators);
  EXPECT_GT(calls, 10'000u);
  for (Operator& op : operators) delete op.published.exchange(nullptr);
}

// A non-local exit leaves a frame behind; the next `leave` of an outer call puts the depth right.
TEST(WorldFrames, DepthIsRestoredNotDecremented) {
  Frames frames;
  State state;
  std::atomic<const State*> published{&state};
  int outer, skipped, inner;
  frames.enter(published, outer);
  frames.enter(published, skipped);
  frames.enter(published, inner);
  EXPECT_EQ(frames.depth(), 3);
  frames.leave(outer);
  EXPECT_EQ(frames.depth(), 0);
  EXPECT_EQ(frames.innermost(), nullptr);
}

TEST(WorldFrames, DeepCallsAreVisited) {
  Frames frames;
  std::vector<State> states(50);
  std::vector<int> depths(50);
  std::vector<std::atomic<const State*>> published(50);
  for (size_t i = 0; i < 50; ++i) {
    published[i] = &states[i];
    EXPECT_EQ(frames.enter(published[i], depths[i]), &states[i]);
  }
  std::vector<const State*> seen;
  frames.visit([&](const State* s) { seen.push_back(s); });
  ASSERT_EQ(seen.size(), 50u);
  for (size_t i = 0; i < 50; ++i) EXPECT_EQ(seen[i], &states[i]);
  for (size_t i = 50; i-- > 0;) frames.leave(depths[i]);
  frames.visit([&](const State*) { ADD_FAILURE() << "a frame was not cleared"; });
}

// Without a barrier nothing may be freed, and nothing is lost.
struct NoBarrierPlatform : HardwarePlatform {
  static bool barrierAll() { return false; }
};
TEST(WorldReclaimer, KeepsEverythingWithoutABarrier) {
  shunt::world::Reclaimer<NoBarrierPlatform, State> reclaimer;
  State first, second;
  std::atomic<const State*> published{&first};
  EXPECT_EQ(reclaimer.publish(published, &second), &first);
  EXPECT_EQ(published.load(), &second);
  const auto freed = reclaimer.reclaim([](auto&&) {}, [](const State*) { ADD_FAILURE() << "freed without a barrier"; });
  EXPECT_EQ(freed, 0u);
  EXPECT_EQ(reclaimer.retired(), std::vector<const State*>{&first});
}

}  // namespace
