// Beyond RLIMIT_FSIZE, making a file larger sends a signal that ends the process. In this object's life it is an error
// like any other, to the thread that made it. Any thread; each object on its own thread's signals.
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
