// The programs as Shunt runs them, in the order of all.h.
#include "tests/parity/written/shunt_api.h"

#include "tests/parity/written/inference.h"
#include "tests/parity/written/losses.h"
#include "tests/parity/written/numbers.h"

namespace parity::programs {

std::vector<Program> shuntPrograms() {
  std::vector<Program> all;
  addShuntCustomFunctions(all);
  InferencePrograms<ShuntApi>::addAll(all);
  NumberPrograms<ShuntApi>::addAll(all);
  LossPrograms<ShuntApi>::addAll(all);
  return all;
}

}  // namespace parity::programs
