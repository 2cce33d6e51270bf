// NoFileSizeSignal: while an object lives, making a file larger than RLIMIT_FSIZE fails with EFBIG on its thread.
// Without one, the system sends SIGXFSZ, which ends the process. Each object changes the signal mask of the thread that
// makes it: the same thread must destroy it. Any thread.
#pragma once

#include <shunt/core/macros.h>

#include <csignal>
#include <ctime>

#include <pthread.h>

#include <cerrno>

namespace shunt::detail {

class NoFileSizeSignal {
 public:
  NoFileSizeSignal() {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGXFSZ) == 1;
    pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~NoFileSizeSignal() {
    const int error = errno;
    const timespec at_once{};
    if (!was_pending_) sigtimedwait(&signal_, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }
  NoFileSizeSignal(const NoFileSizeSignal&) = delete;
  NoFileSizeSignal& operator=(const NoFileSizeSignal&) = delete;

 private:
  sigset_t signal_, before_;
  bool was_pending_;
};

}  // namespace shunt::detail
