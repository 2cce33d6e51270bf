// A mutex that clang's thread-safety analysis understands.
//
// Lock levels (a thread holding one may take only those further down):
// clang-format off
//   1 Dispatcher::Impl::mutex        registrations, retired states
//   2 thread records                 (src/core/tls.cpp)
//   3 leaves: a thunk's timing, oneTBB's arena, oneDNN's kernels, the default generator, the JIT's pairs, its fused loops,
//     loaded kernel libraries, the disk cache's place, what the CPU fallback has named
//   4 the threads' free lists        (src/tensor/system_blocks.cpp)
//     the kept large blocks          (src/tensor/large_blocks.cpp)
// fork() takes all of them but the timing's, which is only ever tried, in this order (shunt/core/fork.h). Apart from
// these:
//   load_library's                   before 1: static objects of a library register; fork() leaves it, as it leaves the
//                                    loader's own
//   the compiler's                   (src/tiering/compiler.h) before 1; fork() only tries the one of compiles, and
//                                    remembers
//   jit/'s own                       (link, debug, emit) after 1: the link session's, then the slabs' or the unwinder's.
//                                    fork() takes them right after 1 (jit/fork.h)
//   nodes, hooks, accumulators       (autograd) of one object each; a thread holds at most one, and none of the above
// clang-format on
#pragma once

#include <mutex>

#if defined(__clang__)
#define SHUNT_TSA(x) __attribute__((x))
#else
#define SHUNT_TSA(x)
#endif
#define SHUNT_GUARDED_BY(m) SHUNT_TSA(guarded_by(m))
#define SHUNT_REQUIRES(m) SHUNT_TSA(requires_capability(m))
#define SHUNT_EXCLUDES(m) SHUNT_TSA(locks_excluded(m))

namespace shunt {

class SHUNT_TSA(capability("mutex")) Mutex {
 public:
  void lock() SHUNT_TSA(acquire_capability()) { mutex_.lock(); }
  void unlock() SHUNT_TSA(release_capability()) { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

class SHUNT_TSA(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& m) SHUNT_TSA(acquire_capability(m)) : mutex_(m) { mutex_.lock(); }
  ~MutexLock() SHUNT_TSA(release_capability()) { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace shunt
