#include "kernels/pointwise/functors/compare.h"
#include "kernels/pointwise/isa_loops.h"

SHUNT_DEFINE_LOOPS(Logic)
