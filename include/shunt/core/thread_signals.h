// NoSignals: keeps a program's signals away from the threads that Shunt starts, which the program doesn't know of.
//
// A new thread inherits the signal mask of the thread that starts it. So hold a NoSignals while starting a thread, or
// calling code that may start one. Signals that a thread's own instruction causes (SIGSEGV, SIGBUS, SIGFPE, SIGILL,
// SIGTRAP, SIGSYS) are never blocked.
#pragma once

#include <shunt/core/macros.h>

#include <csignal>
#include <initializer_list>

namespace shunt::detail {

/// While it lives, the calling thread handles no asynchronous signals; threads that it starts meanwhile never do. Other
/// threads handle them, or this one afterwards. Make and destroy it on one thread.
class NoSignals {
 public:
  NoSignals() {
    sigset_t set;
    sigfillset(&set);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) sigdelset(&set, own);
    pthread_sigmask(SIG_BLOCK, &set, &before_);
  }
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }  // doesn't change errno
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace shunt::detail
