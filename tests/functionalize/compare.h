// A case run plain and functionalized, and what differs. Pure functions.
#pragma once

#include "tests/parity/case.h"

#include <string>
#include <vector>

namespace functional {

/// The case with functionalize() around its one call, and every call below checked.
parity::Outcome runFunctional(const parity::Case& c);

struct Difference {
  std::string what;  // one word, by which known_differences.txt names it
  std::string detail;
};

/// Bit for bit, NaN equal to NaN (and in gradients 0 to -0, to which a zero may be added): results, their aliases,
/// arguments after the call, gradients, messages. Of graphs only what a caller computes with: names of nodes and
/// versions are not compared. `values`: those of results too.
std::vector<Difference> differences(const parity::Outcome& plain, const parity::Outcome& functional, bool values);

}  // namespace functional
