// The compiler's thread: takes hot pairs and fused loops from a bounded queue, what is stored on the disk first, then
// what saves most (request_queue.h), loads libshunt_jit.so at the first, compiles one at a time, and no more than the
// budget allows (budget.h).
//
// Threads: submit() from any caller (never waits, never throws); one worker, which starts when the budget allows the
// first piece of work: short programs have none. Until then samples of calls look whether it is time, pulse(). Lock:
// the queue's mutex, a leaf but for the clocks and counts that are read under it; a compile runs under compile_mutex_
// alone, which SYNC callers and the worker share.
// Priority: low from the first work under the budget on, so that the program's threads go first where no core is idle.
// It can't be raised again, so who lifts the budget before that (wait_idle(), tests) keeps the program's own.
// Memory: when nothing was compiled for some seconds, the worker frees what the compiler keeps to compile faster.
// Exit: an atexit handler stops the queue, has a compile that is going on stop at its next pass, and joins. What was
// made later is destroyed earlier: the compiler's library destroys nothing (jit/never_destroyed.cpp), and Shunt's own
// state is never destroyed either. Fork: the child keeps the thunks that it inherited, and has a queue and a worker of
// its own; what was queued counts again. But where a compile was going on LLVM is left half-way in it, with locks that
// nobody gives back: such a child never compiles.
#pragma once

#include "src/tiering/request_queue.h"

#include <shunt/jit/budget.h>
#include <shunt/jit/jit.h>
#include <shunt/jit/provider.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace shunt::jit {

class Thunk;

class Compiler {
 public:
  static Compiler& instance();

  /// A pair without a thunk. False: the queue is full or closed, and the pair has to count again; as for those below.
  bool submit(const CompileRequest& request) noexcept;
  /// The second tier of a pair with this thunk; and more kinds of operands of a pair.
  bool submitAgain(const CompileRequest& request, const Thunk& thunk) noexcept;
  bool submitMissed(const CompileRequest& request) noexcept;
  bool submit(std::shared_ptr<FusedLoop> loop) noexcept;
  /// From samples of calls: starts the thread, where something waits and the budget has come to allow it.
  void pulse() noexcept {
    if (check_at_.load(std::memory_order_relaxed) != kNotWaiting) checkWhetherToStart();
  }
  /// False: only a look at the disk was asked for, and there is nothing.
  bool compileNow(const CompileRequest& request) noexcept;
  void compileNow(FusedLoop& loop) noexcept;
  /// Waits for a compile that is going on.
  PlanOutline outline(const CompileRequest& request);
  /// Of the disk cache; throw where there is no compiler.
  std::vector<CacheEntry> cacheEntries(const std::string& directory);
  size_t clearCache(const std::string& directory);
  /// Loads the compiler; empty where there is none.
  std::string llvmVersion();
  void waitIdle();
  void setBudget(double percent);
  double budget() const;
  BudgetStats budgetStats();
  /// For work outside of the thread: whether the budget has room for so many nanoseconds now; and that it has taken
  /// them.
  bool allows(int64_t nanoseconds);
  void spend(int64_t nanoseconds);
  /// Why what is queued isn't being compiled, for people; "" where nothing holds it up.
  std::string whyWaiting();
  Provider* provider() const { return provider_.load(std::memory_order_acquire); }

 private:
  struct Queue {
    std::mutex mutex;
    std::condition_variable changed;
    RequestQueue requests;
    Budget budget{0};
    int64_t lifted = 0;  // nanoseconds used while the budget was lifted
    int waiters = 0;     // in waitIdle()
    std::thread worker;
    bool started = false, stopping = false, busy = false;
  };
  using Lock = std::unique_lock<std::mutex>;
  static constexpr int64_t kNotWaiting = INT64_MAX;

  Compiler();
  void beforeFork();
  void afterForkInParent();
  void afterForkInChild();
  template <class... Request>
  bool push(Request&&... request) noexcept;
  void checkWhetherToStart() noexcept;
  void startIfDue(Queue& queue);
  void start(Queue& queue);
  void cantStart(const std::exception& e) noexcept;
  void run(Queue& queue);
  std::optional<RequestQueue::Job> waitForJob(Queue& queue, Lock& lock);
  std::optional<RequestQueue::Job> take(Queue& queue, bool may_be_stored, int64_t& pause);
  bool mayBeStored() const noexcept;
  bool isLifted(const Queue& queue) const;
  bool perform(RequestQueue::Job& job) noexcept;
  FusedResult attempt(FusedLoop& loop, Wanted wanted) noexcept;
  void dropCaches() noexcept;
  Provider* load();
  Provider& needProvider();
  void stop();

  Queue* queue_;  // replaced after a fork, while the child has one thread
  std::mutex compile_mutex_;
  std::mutex fork_mutex_;       // one fork at a time
  bool quiet_at_fork_ = false;  // no compile was going on; under fork_mutex_
  bool tried_ = false;          // under compile_mutex_
  std::atomic<Provider*> provider_{nullptr};
  std::atomic<bool> closed_{false};
  std::atomic<double> percent_{-1};  // -1: as the environment says
  // When a sample is to look whether the thread should start: coarse clock, ns. Written under the queue's mutex.
  std::atomic<int64_t> check_at_{kNotWaiting};
};

}  // namespace shunt::jit
