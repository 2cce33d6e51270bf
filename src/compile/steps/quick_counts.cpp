#include "src/compile/steps/quick_counts.h"

namespace shunt::compiled {

constinit thread_local QuickCounts quick_counts SHUNT_TLS_MODEL;

const QuickCounts& quickCounts() { return quick_counts; }

}  // namespace shunt::compiled
