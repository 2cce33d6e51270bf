// Whether two runs of one case left exactly the same behind.
#pragma once

#include "tests/parity/case.h"

#include <string>

namespace diff {

/// The first difference as text; "" when there is none. Every bit counts, but NaN equals NaN. `values`: compare
/// contents of results too (not those of uninitialised ones).
std::string firstDifference(const parity::Outcome& expected, const parity::Outcome& got, bool values);

}  // namespace diff
