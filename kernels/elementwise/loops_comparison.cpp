#include "kernels/elementwise/functors/compare.h"
#include "kernels/elementwise/isa_loops.h"

SHUNT_DEFINE_LOOPS(Comparison)
