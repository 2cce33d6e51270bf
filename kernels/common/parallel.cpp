#include <shunt/core/environment.h>
#include <shunt/core/error.h>
#include <shunt/core/fork.h>
#include <shunt/core/parallel.h>
#include <shunt/core/thread_signals.h>

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_scheduler_observer.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

namespace shunt {
namespace {

#if defined(__SANITIZE_THREAD__)
constexpr bool kSerial = true;
#else
constexpr bool kSerial = false;
#endif

thread_local bool in_region = false;

int initialThreads() {
  const int hardware = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const auto value = detail::environment::read(detail::environment::Variable::kNumThreads, std::to_string(hardware));
  return value.is_set ? static_cast<int>(value.number) : hardware;
}

// 0: not read from the environment yet. Relaxed: a number on its own.
std::atomic<int> num_threads{0};

// In a child of fork whose parent had made a pool. Its threads stayed in the parent, and oneTBB, which doesn't know,
// may wait for them.
std::atomic<bool> pool_stayed_behind{false};

// Note [Signals and the pool]
// oneTBB starts its threads when there is work for them, from the thread that brings it or from one another, and they
// inherit the mask. So calls run with the program's signals blocked until as many threads of the pool were seen as the
// arena can have. They may never be so many, where the program limits oneTBB: calls then go on paying for two changes
// of the mask. Threads that the program's own use of oneTBB had started take signals as they did.
class Arena final : tbb::task_scheduler_observer {
 public:
  explicit Arena(int threads) : Arena(std::make_unique<tbb::task_arena>(threads), threads) {}
  ~Arena() override { observe(false); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  template <class F>
  void execute(const F& f) {
    std::optional<detail::NoSignals> no_signals;
    if (workers_seen.load(std::memory_order_relaxed) < threads_ - 1) no_signals.emplace();
    arena_->execute(f);
  }

 private:
  Arena(std::unique_ptr<tbb::task_arena> arena, int threads)
      : tbb::task_scheduler_observer(*arena), arena_(std::move(arena)), threads_(threads) {
    arena_->initialize();
    observe(true);
  }
  void on_scheduler_entry(bool is_worker) override {
    static thread_local bool seen = false;
    if (is_worker && !std::exchange(seen, true)) workers_seen.fetch_add(1, std::memory_order_relaxed);
  }

  const std::unique_ptr<tbb::task_arena> arena_;
  const int threads_;
  static inline std::atomic<int> workers_seen{0};  // of the process's one pool, which all arenas share
};

// The arena of the current number of threads. A call keeps its own reference, so that set_num_threads never waits.
// Never destroyed: kernels may run during static destruction.
struct ArenaHolder {
  std::mutex mutex;
  int size = 0;
  std::shared_ptr<Arena> arena;
  std::unique_ptr<tbb::global_control> limit;  // more threads than the hardware's must be allowed, or oneTBB prints

  std::shared_ptr<Arena> get(int threads) {
    const std::lock_guard lock(mutex);
    if (size != threads) {
      limit.reset();
      if (threads > tbb::info::default_concurrency())
        limit = std::make_unique<tbb::global_control>(tbb::global_control::max_allowed_parallelism,
                                                      static_cast<size_t>(threads));
      arena = std::make_shared<Arena>(threads);
      size = threads;
    }
    return arena;
  }
};

ArenaHolder& arenaHolder() {
  static ArenaHolder& holder = *new ArenaHolder;
  return holder;
}

void afterForkInChild() {
  ArenaHolder& holder = arenaHolder();
  if (holder.arena != nullptr) pool_stayed_behind.store(true, std::memory_order_relaxed);
  holder.mutex.unlock();
}

[[maybe_unused]] const bool at_load =
    (detail::holdAcrossFork(
         3, [] { arenaHolder().mutex.lock(); }, [] { arenaHolder().mutex.unlock(); }, &afterForkInChild),
     true);

struct RegionGuard {
  bool saved = std::exchange(in_region, true);
  ~RegionGuard() { in_region = saved; }
};

void runSerially(int64_t begin, int64_t end, int64_t grain, FunctionRef<void(int64_t, int64_t)> f) {
  const RegionGuard guard;
  for (int64_t b = begin; b < end; b += grain) f(b, std::min(b + grain, end));
}

}  // namespace

int get_num_threads() {
  int n = num_threads.load(std::memory_order_relaxed);
  if (n != 0) return n;
  // Whoever comes first stores the environment's value; an earlier set_num_threads stays.
  int expected = 0;
  n = initialThreads();
  return num_threads.compare_exchange_strong(expected, n, std::memory_order_relaxed) ? n : expected;
}

void set_num_threads(int n) {
  SHUNT_CHECK(n > 0, "set_num_threads: expected a positive number of threads, but got ", n);
  num_threads.store(n, std::memory_order_relaxed);
}

bool in_parallel_region() { return in_region; }

void parallelFor(int64_t begin, int64_t end, int64_t grain, FunctionRef<void(int64_t, int64_t)> f) {
  SHUNT_CHECK(grain > 0, "parallelFor: expected a positive grain, but got ", grain);
  if (begin >= end) return;
  const int64_t chunks = (end - begin + grain - 1) / grain;
  const int threads = get_num_threads();
  const bool alone = pool_stayed_behind.load(std::memory_order_relaxed);
  if (kSerial || chunks == 1 || threads == 1 || in_region || alone) return runSerially(begin, end, grain, f);
  const std::shared_ptr<Arena> arena = arenaHolder().get(threads);
  arena->execute([&] {
    tbb::parallel_for(int64_t{0}, chunks, [&](int64_t k) {
      const RegionGuard guard;
      const int64_t b = begin + k * grain;
      f(b, std::min(b + grain, end));
    });
  });
}

}  // namespace shunt
