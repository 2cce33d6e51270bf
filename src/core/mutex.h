// A mutex that clang's thread-safety analysis understands.
//
// Lock levels (a thread holding one may take only those further down):
//   1 Dispatcher::Impl::mutex        registrations, retired states
//   2 thread records                 (src/core/tls.cpp)
//   3 leaves: oneTBB's arena, oneDNN's kernels, the default generator, the JIT's pairs
//   4 the threads' free lists        (src/tensor/system_blocks.cpp)
// fork() takes all of them, in this order (shunt/core/fork.h).
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
