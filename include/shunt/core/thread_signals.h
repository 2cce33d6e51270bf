// Signals and the threads that a library starts: a program's signals are for the threads that it knows of.
//
// A new thread inherits the mask of the thread that starts it. So whoever starts one, or calls what may, does it in the
// life of a NoSignals. What a thread's own instruction brings about (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS)
// is never blocked.
#pragma once

#include <shunt/core/macros.h>

#include <csignal>
#include <initializer_list>

namespace shunt::detail {

/// While it lives the calling thread takes no signals from elsewhere, and threads that it starts never will: other
/// threads take them, or this one at the end. Belongs to the thread that made it.
class NoSignals {
 public:
  NoSignals() {
    sigset_t set;
    sigfillset(&set);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) sigdelset(&set, own);
    pthread_sigmask(SIG_BLOCK, &set, &before_);
  }
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }  // leaves errno alone
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace shunt::detail
