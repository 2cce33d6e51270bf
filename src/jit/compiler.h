// The compiler's thread: takes hot pairs from a bounded queue, loads libshunt_jit.so at the first, compiles one at a time.
//
// Threads: submit() from any caller (never waits, never throws); one worker. Lock: mutex_ (queue, flags), a leaf; a compile
// runs under compile_mutex_ alone, which SYNC callers and the worker share.
// Exit: an atexit handler stops the queue and joins. What was made later is destroyed earlier: the compiler's library
// destroys nothing (jit/never_destroyed.cpp), and Shunt's own state is never destroyed either.
// Fork: the child has no worker. It keeps the thunks it inherited and compiles nothing.
#pragma once

#include <shunt/jit/jit.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace shunt::jit {

class Compiler {
 public:
  static Compiler& instance();

  /// False: the queue is full or closed, and the pair has to count again.
  bool submit(const CompileRequest& request) noexcept;
  void compileNow(const CompileRequest& request) noexcept;
  /// Waits for a compile that is going on.
  PlanOutline outline(const CompileRequest& request);
  void waitIdle();
  Provider* provider() const { return provider_.load(std::memory_order_acquire); }

 private:
  Compiler();
  void run();
  void writeReport(std::unique_lock<std::mutex>& lock) noexcept;
  Provider* load();
  void stop();

  static constexpr size_t kMaxQueued = 4096;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<CompileRequest> queue_;
  std::thread worker_;
  bool started_ = false, stopping_ = false, busy_ = false;
  std::mutex compile_mutex_;
  bool tried_ = false;  // under compile_mutex_
  std::atomic<Provider*> provider_{nullptr};
  std::atomic<bool> closed_{false};
};

}  // namespace shunt::jit
