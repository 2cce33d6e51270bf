#include "src/compile/quick_counts.h"

namespace shunt::compiled {

namespace {
constinit thread_local QuickCounts counts SHUNT_TLS_MODEL;
}  // namespace

QuickCounts& quickCounts() { return counts; }

}  // namespace shunt::compiled
