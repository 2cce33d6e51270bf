// The programs with custom functions, as Shunt runs them.
#include "tests/parity/written/shunt_api.h"

#include "tests/parity/written/custom_functions.h"

namespace parity::programs {

void addShuntCustomFunctions(std::vector<Program>& all) { CustomFunctions<ShuntApi>::addAll(all); }

}  // namespace parity::programs
