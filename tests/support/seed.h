// The seed of tests that draw their cases, and how much they draw. Any thread.
//
//   SHUNT_TEST_SEED=n   repeats the run that printed n; without it the seed is the day's number, so that runs of other
//                       days draw other cases, or a fixed one (seedOfComparison)
//   SHUNT_TEST_LONG=1   the whole of what there is to draw, which takes minutes (docs/testing.md)
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace shunt::test {

/// Throws where SHUNT_TEST_SEED is no number.
inline uint64_t drawnSeed() {
  if (const char* text = std::getenv("SHUNT_TEST_SEED"); text != nullptr && *text != 0) {
    size_t end = 0;
    const uint64_t seed = std::stoull(text, &end);
    if (text[end] != 0) throw std::invalid_argument(std::string("SHUNT_TEST_SEED is no number: ") + text);
    return seed;
  }
  return static_cast<uint64_t>(
      std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now()).time_since_epoch().count());
}

inline bool longRun() {
  const char* text = std::getenv("SHUNT_TEST_LONG");
  return text != nullptr && *text != 0 && std::string(text) != "0";
}

/// For comparisons with another library, or another way of computing, in which each new seed may meet a difference that
/// nobody has looked at yet: `fixed` at a landing, drawn in a long run and where SHUNT_TEST_SEED is set.
inline uint64_t seedOfComparison(uint64_t fixed) {
  return longRun() || std::getenv("SHUNT_TEST_SEED") != nullptr ? drawnSeed() : fixed;
}

}  // namespace shunt::test
