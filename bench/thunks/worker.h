// A process that does a scenario's calls when it is asked to, and says how long they took: two with different
// environments can take turns.
#pragma once

#include "bench/thunks/parts.h"

#include <cstdint>
#include <memory>
#include <string>

#include <sys/types.h>

namespace bench {

class Scenario {
 public:
  virtual ~Scenario() = default;
  virtual void beforeCalls() {}
  virtual void run() = 0;
  /// Whether the calls were what the scenario is about.
  virtual bool held() { return true; }
};

/// never_slower.cpp
std::unique_ptr<Scenario> makeScenario(const std::string& name);

class Worker {
 public:
  Worker(const std::string& scenario, const Settings& settings);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  /// CPU nanoseconds. Asks again, a few times, when the scenario did not hold.
  int64_t timeCalls(int64_t count);

 private:
  pid_t process_ = -1;
  int to_ = -1, from_ = -1;
};

/// The other end: serves until its input ends.
int serveAsWorker(const std::string& scenario);

}  // namespace bench
