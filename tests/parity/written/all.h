// Every program, for one Api.
#pragma once

#include "tests/parity/written/custom_functions.h"
#include "tests/parity/written/inference.h"
#include "tests/parity/written/losses.h"
#include "tests/parity/written/numbers.h"

namespace parity::programs {

template <class Api>
std::vector<Program> allPrograms() {
  std::vector<Program> all;
  CustomFunctions<Api>::addAll(all);
  InferencePrograms<Api>::addAll(all);
  NumberPrograms<Api>::addAll(all);
  LossPrograms<Api>::addAll(all);
  return all;
}

}  // namespace parity::programs
