// The `reduction` argument of losses, checked. Pure; any thread.
#pragma once

#include <shunt/core/error.h>
#include <shunt/core/reduction.h>

#include <cstdint>

namespace shunt::nn {

enum class LossReduction : int64_t { kNone = Reduction::None, kMean = Reduction::Mean, kSum = Reduction::Sum };

inline LossReduction lossReduction(int64_t number) {
  SHUNT_CHECK(number >= 0 && number <= 2, number,
              " is not a valid value for reduction: expected 0 (none), 1 (mean) or 2 (sum)");
  return static_cast<LossReduction>(number);
}

}  // namespace shunt::nn
