#include "kernels/pointwise/functors/division.h"
#include "kernels/pointwise/isa_loops.h"

SHUNT_DEFINE_LOOPS(Division)
