// Fused loops as the library has them: asked for by whoever runs a region often, compiled by the compiler's thread or
// loaded from the disk cache, and shared by all who ask for equal ones.
//
// A FusedLoop belongs to those who hold it; its code is freed with the last of them, so a holder that runs the function
// is enough for it to stay. Any thread may call everything here. Locks: FusedLoops' mutex is of level 3 (src/base/
// mutex.h); code is freed without it.
//
// Note [States of a fused loop]
// idle -> queued (asked for) -> ready, with a function; refused; or idle again: where the queue was full, a fork has
// lost the request, the compiler failed, compiling was switched off meanwhile, or only what is stored was asked for and
// the disk cache doesn't have it. If somebody wants a loop's code while it is only queued for a look there, it is
// compiled as soon as the look has found nothing. ready -> idle: set_enabled(false) and
// clear() withdraw the function; the code stays for whoever is running it, and is there at once when it is asked for
// again. So who has a loop that isn't ready asks again now and then.
#pragma once

#include <shunt/jit/jit.h>
#include <shunt/jit/provider.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

namespace shunt::jit {

/// What is asked for: a look into the disk cache, or code at the cost of a compile.
enum class Wanted : uint8_t { kStored, kCode };

class SHUNT_API FusedLoop : public std::enable_shared_from_this<FusedLoop> {
 public:
  enum class State : uint8_t { kIdle, kQueued, kReady, kRefused };

  explicit FusedLoop(FusedLoopSpec spec) : spec_(std::move(spec)) {}
  ~FusedLoop();
  FusedLoop(const FusedLoop&) = delete;
  FusedLoop& operator=(const FusedLoop&) = delete;

  /// Null until it is compiled, and where it is withdrawn. Good for as long as the loop is held.
  FusedLoopFn function() const { return function_.load(std::memory_order_acquire); }
  const FusedLoopSpec& spec() const { return spec_; }
  State state() const;
  /// Of a queued one: whether it is to be compiled, and not only looked for.
  bool isCodeWanted() const { return is_code_wanted_.load(std::memory_order_relaxed); }
  /// How often those ran it who want it compiled, as of when they asked last. Takes no lock.
  uint64_t runsWanted() const { return isCodeWanted() ? runs_.load(std::memory_order_relaxed) : 0; }
  /// That perf, gdb and dumps call its code; "" without code.
  std::string name() const;
  /// Of a refusal, or the last failure; "" without one.
  std::string reason() const;

 private:
  friend class FusedLoops;
  void becomeIdle() {
    state_ = State::kIdle;
    is_code_wanted_.store(false, std::memory_order_relaxed);
  }

  const FusedLoopSpec spec_;
  std::atomic<FusedLoopFn> function_{nullptr};  // of code_ (release, acquire)
  std::atomic<uint64_t> runs_{0};               // relaxed: decides when it is compiled, and no more
  std::atomic<bool> is_code_wanted_{false};     // of a queued one: somebody asked for kCode; written under the mutex
  // Guarded by FusedLoops::mutex_:
  State state_ = State::kIdle;
  int failures_ = 0;
  std::string reason_;
  std::unique_ptr<FusedCode> code_;
};

/// All there are.
class SHUNT_API FusedLoops {
 public:
  static FusedLoops& instance();

  /// The loop of the spec, and asks for it. Never waits for a compile, but under SHUNT_JIT_SYNC=1, where it compiles.
  /// Null where compiling is off, or memory is short.
  /// `runs`: how often whoever asks has run it.
  std::shared_ptr<FusedLoop> request(const FusedLoopSpec& spec, Wanted wanted = Wanted::kCode,
                                     uint64_t runs = 1) noexcept;
  /// Asks again, where it is idle or queued for less.
  void ask(FusedLoop& loop, Wanted wanted = Wanted::kCode, uint64_t runs = 1) noexcept;

  /// For set_enabled(false) and clear(): no call begins in one of them once this has returned.
  void withdrawAll();
  FusedStats stats() const;

 private:
  friend class Compiler;
  friend class FusedLoop;
  FusedLoops();
  Wanted wantedOf(const FusedLoop& loop) const noexcept;
  /// What became of it. False: it was looked for only, and is to be compiled now.
  bool finished(FusedLoop& loop, Wanted wanted, FusedResult result) noexcept;
  void forgetQueue();
  std::shared_ptr<FusedLoop> findLocked(const FusedLoopSpec& spec) const;
  std::shared_ptr<FusedLoop> find(const FusedLoopSpec& spec) const;
  std::shared_ptr<FusedLoop> findOrMake(const FusedLoopSpec& spec);
  void remove(FusedLoop& loop);

  mutable std::mutex mutex_;                           // guards what follows
  std::unordered_multimap<size_t, FusedLoop*> loops_;  // by hash; each removes itself
  FusedStats stats_;
};

}  // namespace shunt::jit
