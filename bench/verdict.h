// What a figure says about the bar that it has to reach, for all benchmark programs. Pure functions, any thread.
#pragma once

#include <cmath>

namespace bench {

enum class Verdict {
  kHeld,
  kMissed,
  kNotMeasured,   // counts as missed: a bar that nobody looked at says nothing
  kNotOnThisCpu,  // the CPU lacks what the bar is about; counts as held
};

/// `measured` is NaN where there is no figure.
inline Verdict judge(double measured, double most, bool on_this_cpu = true) {
  if (!on_this_cpu) return Verdict::kNotOnThisCpu;
  if (std::isnan(measured)) return Verdict::kNotMeasured;
  return measured <= most ? Verdict::kHeld : Verdict::kMissed;
}

inline bool countsAsMissed(Verdict v) { return v == Verdict::kMissed || v == Verdict::kNotMeasured; }

inline const char* textOf(Verdict v) {
  switch (v) {
    case Verdict::kHeld: return "ok";
    case Verdict::kMissed: return "MISSED";
    case Verdict::kNotMeasured: return "NOT MEASURED";
    case Verdict::kNotOnThisCpu: return "not on this CPU";
  }
  return "";
}

}  // namespace bench
