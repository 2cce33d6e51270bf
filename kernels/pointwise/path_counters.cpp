// The counters of run.h. In a source without bitcode: they are state.
#include "kernels/pointwise/run.h"

namespace shunt::elementwise {

constinit thread_local PathCounters path_counters SHUNT_TLS_MODEL;

const PathCounters& pathCounters() { return path_counters; }

}  // namespace shunt::elementwise
