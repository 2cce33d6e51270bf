// The JIT's settings from the environment, read once.
#pragma once

#include <shunt/jit/provider.h>

#include <cstdint>
#include <string>

namespace shunt::jit {

struct Switches {
  bool enabled = true;
  bool sync = false;
  bool keep = false;  // SHUNT_JIT_KEEP: thunks are not timed, and stay however slow they are
  /// Of the first compile; the second tier follows for what stays hot where the first is not the only one.
  Tier tier = Tier::kFirst;
  bool recompile = true;
  /// SHUNT_STATS: thunks count their calls, and the end of the program prints the table or writes the report.
  bool stats = false;
  std::string stats_file;  // empty: the table on stderr
  int64_t threshold = 512;
  int64_t budget = 3;  // percent; budget.h
  /// Every how many interpreted calls of a thread one is observed, on average. An observation executes about 400
  /// instructions, so that this bounds what the JIT costs a cold call. A pair needs about four to get hot: a quarter of
  /// the threshold, within these bounds.
  int64_t period = 128;
  static constexpr int64_t kLeastPeriod = 16, kMostPeriod = 1024;
  /// Every how many guard misses of a thread one is sampled, on average: twice as many as make a record due
  /// (missed_call.cpp), up to this bound. A sample executes about 140 instructions.
  int64_t miss_period = 32;
  static constexpr int64_t kMostMissPeriod = 128;
  /// Whoever sets these wants everything compiled that is hot.
  bool liftsBudget() const { return sync || keep; }
};
const Switches& switches();

}  // namespace shunt::jit
