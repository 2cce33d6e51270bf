// Children of fork() in tests.
#pragma once

#include <sys/wait.h>

namespace diff {

/// For alarm() in a child: one that hangs is ended by a signal, and its test fails.
inline constexpr unsigned kSecondsForAChild = 120;

inline int statusOf(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

}  // namespace diff
