// The calling thread's CPU time, for the phases of a compile (shunt/jit/compile_times.h). A local value.
#pragma once

#include <ctime>

namespace shunt::jit {

/// Adds the CPU time since it was made, or since the last lap, to a phase.
class Stopwatch {
 public:
  void lap(double& phase) {
    const double now = milliseconds();
    phase += now - last_;
    last_ = now;
  }

 private:
  static double milliseconds() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
  }
  double last_ = milliseconds();
};

}  // namespace shunt::jit
