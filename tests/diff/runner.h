// Runs cases by the operators' typed entries and tells what each call was looked up by and whether a thunk ran it.
#pragma once

#include "tests/diff/typed_calls.h"
#include "tests/parity/case.h"

namespace diff {

enum class Form : uint8_t { kPlain, kGrad, kAutocast };
const char* toString(Form form);

struct RunResult {
  parity::Outcome outcome;
  PairKey pair;
  bool had_thunk = false;        // published before the call...
  uint64_t calls_in_thunks = 0;  // ...and how many ran during it, inner calls included
};

/// Seeds the default generator first, so that random operators repeat themselves.
RunResult run(const parity::Case& c, Form form);

}  // namespace diff
