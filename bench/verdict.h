// What a figure says about the bar that it has to reach, for all benchmark programs. Functions, any thread.
#pragma once

#include <cmath>
#include <cstdlib>
#include <string_view>

namespace bench {

/// What a bar is about and can't be had here. Such a bar counts as held.
enum class Lack {
  kNothing,
  kInstructions,  // of the CPU
  kLibtorch,      // 1.13, in the system's packages
};

enum class Verdict {
  kHeld,
  kMissed,
  kNotMeasured,   // counts as missed: a bar that nobody looked at says nothing
  kNotOnThisCpu,  // and kNoLibtorch: see Lack
  kNoLibtorch,
};

/// `measured` is NaN where there is no figure.
inline Verdict judge(double measured, double most, Lack lack = Lack::kNothing) {
  if (lack == Lack::kInstructions) return Verdict::kNotOnThisCpu;
  if (lack == Lack::kLibtorch) return Verdict::kNoLibtorch;
  if (std::isnan(measured)) return Verdict::kNotMeasured;
  return measured <= most ? Verdict::kHeld : Verdict::kMissed;
}

inline bool countsAsMissed(Verdict v) { return v == Verdict::kMissed || v == Verdict::kNotMeasured; }

inline const char* textOf(Verdict v) {
  switch (v) {
    case Verdict::kHeld:
      return "ok";
    case Verdict::kMissed:
      return "MISSED";
    case Verdict::kNotMeasured:
      return "NOT MEASURED";
    case Verdict::kNotOnThisCpu:
      return "not on this CPU";
    case Verdict::kNoLibtorch:
      return "no libtorch 1.13 on this system";
  }
  return "";
}

/// Of bars against libtorch, in a program that was built without: bench/bars, which asks the package manager, sets
/// SHUNT_BENCH_LIBTORCH=none where there is no 1.13 to install.
inline Lack lackOfLibtorch() {
  const char* available = std::getenv("SHUNT_BENCH_LIBTORCH");
  return available != nullptr && std::string_view(available) == "none" ? Lack::kLibtorch : Lack::kNothing;
}

}  // namespace bench
