// Runs a case by Shunt.
#include "tests/parity/shunt_api.h"

namespace parity {

Outcome runShunt(const Case& c) { return Executor<ShuntApi>(c).run(); }

}  // namespace parity
