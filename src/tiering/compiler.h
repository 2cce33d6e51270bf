// The compiler's thread: takes hot pairs and fused loops from a bounded queue, pairs without a thunk first, loads
// libshunt_jit.so at the first, compiles one at a time.
//
// Threads: submit() from any caller (never waits, never throws); one worker. Lock: the queue's mutex, a leaf; a compile
// runs under compile_mutex_ alone, which SYNC callers and the worker share.
// Memory: when nothing was compiled for some seconds, the worker frees what the compiler keeps to compile faster.
// Exit: an atexit handler stops the queue and joins. What was made later is destroyed earlier: the compiler's library
// destroys nothing (jit/never_destroyed.cpp), and Shunt's own state is never destroyed either.
// Fork: the child keeps the thunks that it inherited, and has a queue and a worker of its own; what was queued counts
// again. But where a compile was going on LLVM is left half-way in it, with locks that nobody gives back: such a child
// never compiles.
#pragma once

#include "src/tiering/request_queue.h"

#include <shunt/jit/jit.h>
#include <shunt/jit/provider.h>

#include <condition_variable>
#include <mutex>
#include <thread>

namespace shunt::jit {

class Compiler {
 public:
  static Compiler& instance();

  /// False: the queue is full or closed, and the pair has to count again.
  bool submit(const CompileRequest& request, Waiting waiting) noexcept;
  /// False: the queue is full or closed. Of a fused loop that is queued.
  bool submit(std::shared_ptr<FusedLoop> loop) noexcept;
  void compileNow(CompileRequest request) noexcept;
  void compileNow(FusedLoop& loop) noexcept;
  /// Waits for a compile that is going on.
  PlanOutline outline(const CompileRequest& request);
  /// Of the disk cache; throw where there is no compiler.
  std::vector<CacheEntry> cacheEntries(const std::string& directory);
  size_t clearCache(const std::string& directory);
  void waitIdle();
  Provider* provider() const { return provider_.load(std::memory_order_acquire); }

 private:
  struct Queue {
    std::mutex mutex;
    std::condition_variable changed;
    RequestQueue requests;
    std::thread worker;
    bool started = false, stopping = false, busy = false;
  };

  Compiler();
  void beforeFork();
  void afterForkInParent();
  void afterForkInChild();
  template <class... Request>
  bool push(Request&&... request) noexcept;
  void start(Queue& queue);
  void run(Queue& queue);
  void compile(RequestQueue::Work work) noexcept;
  FusedResult attempt(FusedLoop& loop, Wanted wanted) noexcept;
  void waitForWork(Queue& queue, std::unique_lock<std::mutex>& lock);
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
};

}  // namespace shunt::jit
