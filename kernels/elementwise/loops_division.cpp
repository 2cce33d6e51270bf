#include "kernels/elementwise/functors/division.h"
#include "kernels/elementwise/isa_loops.h"

SHUNT_DEFINE_LOOPS(Division)
