#include "src/compile/steps/quick_counts.h"

namespace shunt::compiled {

namespace {
constinit thread_local QuickCounts quick_counts SHUNT_TLS_MODEL;
}  // namespace

QuickCounts& quickCounts() { return quick_counts; }

}  // namespace shunt::compiled
