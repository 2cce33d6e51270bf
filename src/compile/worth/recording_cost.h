// What recording a function costs, and whether it may be done now: for functions that are recorded when it pays
// (CompileOptions::record_after). Any thread.
//
// Note [When recording pays]
// Calls that went on for so long may go on as long again, and a graph mostly saves a good part of that. So a function
// is recorded once its calls with such arguments have taken a few times what a recording is expected to take: as long
// as earlier ones of its took on average, else of other functions, else a figure as measured. And recordings share the
// compiler's budget (src/tiering/budget.h), so that together they cost no more than a small part of what the program
// does.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace shunt::compiled {

class RecordingCost {
 public:
  /// An attempt has taken so much CPU time. `counts`: against the budget.
  void took(int64_t nanoseconds, bool counts);
  int64_t expected() const;

  /// Whether the budget has room for it now. Asks the system for the process's time.
  static bool isAllowed(int64_t nanoseconds);
  /// For people: what the budget is, and what was used of it.
  static std::string describeBudget();

 private:
  std::atomic<int64_t> sum_{0}, attempts_{0};
};

}  // namespace shunt::compiled
