// One world per call: how operator states are published, used and reclaimed.
//
// Note [One world per call]
// An operator's derived state (dispatch table, masks, hot entries) is an immutable object, published through ONE
// pointer. A call uses one such object from start to end, so it never sees half of a registration.
// - Calls never lock, never wait and never write a shared cache line. Registering never waits for calls.
// - A state is freed when no call uses it.
//
// States of an object:  current (the published pointer)  ->  retired (exchanged out, in the retired list)  ->  freed.
// States of a frame:    null (free)  ->  s (a call may be reading s)  ->  null.
//
// CALL      C1  d = depth; depth = d + 1                        relaxed; before the frame is written, so a signal
//                                                               handler uses the next frame wherever it interrupts
//           C2  s = published (acquire); frame[d] = s (release); signal_fence(seq_cst);
//               if published (acquire) != s, repeat C2
//           C3  use s
//           C4  frame[d] = null (release); depth = d            on return and on unwinding; depth is restored, not
//                                                               decremented, which repairs frames skipped by longjmp
// PUBLISH   R4  old = published.exchange(new, seq_cst); old goes to the retired list
// RECLAIM   M1  take the retired list
//           M2  membarrier(PRIVATE_EXPEDITED): afterwards, each thread's frame store of C2 is visible, or the thread
//               executes C2's second load after the barrier and sees the new pointer
//           M3  read every frame of every thread (acquire); free the retired objects found in none, keep the others
//
// Why it is safe: let s be retired before M2.
// - A call that passed C2's check with s did its second load before R4's exchange took effect. So its frame store
//   precedes the barrier in program order: the signal fence keeps the compiler from moving the store below the load,
//   and the barrier drains the store buffer. M3 sees it, or the null of C4, after which the call doesn't read s.
// - A call that has not passed the check repeats C2 and never uses s.
//
// The protocol is a template over its platform P (atomics and fences). A test explores this header with every
// interleaving and with store buffers, and must catch each seeded bug. P provides:
//   template <class T> using Atomic;                   load(order), store(value, order), exchange(value, order)
//   static void signalFence();                         compiler fence, or a real one under ThreadSanitizer
//   static bool barrierAll();                          membarrier; false: not available, so nothing may be freed
// Thunks add steps before PUBLISH: src/dispatch/publication.h. tests/world models both; verify changes with it.
//
// Signal handlers may make unboxed calls if the thread has made a call before, so that its frames exist. The handler's
// call must be less than kFramesPerBlock deeper than the thread ever was; deeper calls get a block from operator new.
// Boxed calls are unsafe in handlers, since their stacks come from a list of the thread's (call_stack.h).
#pragma once

#include <shunt/core/macros.h>

#include <atomic>
#include <cstddef>
#include <vector>

namespace shunt::world {

/// The number of frames in a thread's first block, and in each chained block.
template <class P>
inline constexpr int kFramesPerBlock = 16;

/// Bugs that a test can plant, each of which the model must find; the library has none of them.
struct NoSeededBugs {
  static constexpr bool kNoFence = false;            // C2 without the fence
  static constexpr bool kNoRecheck = false;          // C2 without the second load
  static constexpr bool kDepthAfterFrame = false;    // C1 after the frame store
  static constexpr bool kNoBarrier = false;          // M2 missing
  static constexpr bool kScanBeforeBarrier = false;  // M3 before M2
  static constexpr bool kPublishByStore = false;     // R4 as a release store, which may stay in the store buffer
  static constexpr bool kKeepFrame = false;          // C4 without clearing the frame
  static constexpr bool kForgetKept = false;         // M3 drops what it could not free
};

/// The frames of one thread: the states that its calls in flight use. Only that thread writes them; the reclaimer reads
/// them at any time, so they are never freed. After the thread's exit another thread gets them.
template <class P, class State, class Bugs = NoSeededBugs>
class ThreadFrames {
 public:
  /// Calls in flight that need no chained block.
  static constexpr int kBlockSize = kFramesPerBlock<P>;

  ThreadFrames() = default;
  ThreadFrames(const ThreadFrames&) = delete;
  ThreadFrames& operator=(const ThreadFrames&) = delete;
  ~ThreadFrames() {
    for (Block* b = first_.next.load(std::memory_order_relaxed); b != nullptr;) {
      Block* next = b->next.load(std::memory_order_relaxed);
      delete b;
      b = next;
    }
  }

  /// Steps C1 and C2. Sets `depth` to the value for leave(). Throws std::bad_alloc (chained block), without effect.
  const State* enter(const typename P::template Atomic<const State*>& published, int& depth) {
    const int d = depth_.load(std::memory_order_relaxed);
    auto& frame = frameAt(d);
    if constexpr (!Bugs::kDepthAfterFrame) depth_.store(d + 1, std::memory_order_relaxed);
    const State* s;
    do {
      s = published.load(std::memory_order_acquire);
      frame.store(s, std::memory_order_release);
      if constexpr (!Bugs::kNoFence) P::signalFence();
      if constexpr (Bugs::kNoRecheck) break;
    } while (published.load(std::memory_order_acquire) != s);
    if constexpr (Bugs::kDepthAfterFrame) depth_.store(d + 1, std::memory_order_relaxed);
    depth = d;
    return s;
  }

  /// Step C4.
  void leave(int depth) noexcept {
    if constexpr (!Bugs::kKeepFrame) frameAt(depth).store(nullptr, std::memory_order_release);
    depth_.store(depth, std::memory_order_relaxed);
  }

  /// The state of this thread's innermost call in flight; null if there is none.
  const State* innermost() const {
    const int d = depth_.load(std::memory_order_relaxed);
    return d == 0 ? nullptr : const_cast<ThreadFrames*>(this)->frameAt(d - 1).load(std::memory_order_relaxed);
  }
  /// The state of the d-th call in flight, 0 <= d < depth(); 0 is the outermost. For messages.
  const State* at(int d) const { return const_cast<ThreadFrames*>(this)->frameAt(d).load(std::memory_order_relaxed); }
  /// The number of calls in flight.
  int depth() const { return depth_.load(std::memory_order_relaxed); }

  /// Step M3 for one thread: calls visit(s) for every state in use. Any thread may call it.
  template <class Visit>
  void visit(Visit&& visit) const {
    for (const Block* b = &first_; b != nullptr; b = b->next.load(std::memory_order_acquire))
      for (const auto& frame : b->frame)
        if (const State* s = frame.load(std::memory_order_acquire)) visit(s);
  }

 private:
  using Frame = typename P::template Atomic<const State*>;
  struct Block {
    Frame frame[kBlockSize]{};
    typename P::template Atomic<Block*> next{nullptr};
  };

  Frame& frameAt(int d) {
    if (d < kBlockSize) [[likely]]
      return first_.frame[d];
    return frameBeyond(d);
  }
  // Deep recursion: chains a block, published before its use and kept for the life of the record.
  Frame& frameBeyond(int d) {
    Block* b = &first_;
    for (; d >= kBlockSize; d -= kBlockSize) {
      Block* next = b->next.load(std::memory_order_relaxed);
      if (next == nullptr) {
        next = new Block;
        b->next.store(next, std::memory_order_release);
      }
      b = next;
    }
    return b->frame[d];
  }

  typename P::template Atomic<int> depth_{0};
  Block first_;
};

/// Steps R4 and RECLAIM. Callers hold one lock around every method.
template <class P, class State, class Bugs = NoSeededBugs>
class Reclaimer {
 public:
  /// The pointer through which an operator's state is published; null before the first.
  using Published = typename P::template Atomic<const State*>;

  /// Step R4 for one operator: publishes `next`, retires the previous state and returns it (null: there was none).
  /// Throws std::bad_alloc, without effect. After reserve(n), the next n publications don't throw.
  const State* publish(Published& published, const State* next) {
    retired_.push_back(nullptr);
    const State* old;
    if constexpr (Bugs::kPublishByStore) {
      old = published.load(std::memory_order_relaxed);
      published.store(next, std::memory_order_release);
    } else {
      old = published.exchange(next, std::memory_order_seq_cst);
    }
    if (old == nullptr) {
      retired_.pop_back();
    } else {
      retired_.back() = old;
    }
    return old;
  }
  void reserve(size_t publications) {
    const size_t need = retired_.size() + publications;
    if (need > retired_.capacity()) retired_.reserve(need > 2 * retired_.capacity() ? need : 2 * retired_.capacity());
  }

  /// Retires a state that was exchanged by other means. Throws std::bad_alloc, without effect.
  void retire(const State* old) { retired_.push_back(old); }
  size_t retiredCount() const { return retired_.size(); }
  const std::vector<const State*>& retired() const { return retired_; }

  /// Frees the retired states that no call uses, and returns their number. Never waits.
  /// - `forEachThread(f)` calls f(const ThreadFrames&) for every record.
  /// - `free` takes a state and must not throw. It runs under the caller's lock: if destructors may run foreign code,
  ///   it should only collect the states, and the caller destroys them after unlocking.
  template <class ForEachThread, class Free>
  size_t reclaim(ForEachThread&& forEachThread, Free&& free) {
    if (retired_.empty()) return 0;
    std::vector<const State*> used;
    auto scan = [&] {
      forEachThread([&](const auto& frames) { frames.visit([&](const State* s) { used.push_back(s); }); });
    };
    if constexpr (Bugs::kScanBeforeBarrier) scan();
    if constexpr (!Bugs::kNoBarrier)
      if (!P::barrierAll()) return 0;
    if constexpr (!Bugs::kScanBeforeBarrier) scan();
    size_t freed = 0, kept = 0;
    for (const State* s : retired_) {
      bool in_use = false;
      for (const State* u : used) in_use = in_use || u == s;
      if (in_use) {
        retired_[kept++] = s;
      } else {
        free(s);
        ++freed;
      }
    }
    retired_.resize(Bugs::kForgetKept ? 0 : kept);
    return freed;
  }

 private:
  std::vector<const State*> retired_;
};

}  // namespace shunt::world
