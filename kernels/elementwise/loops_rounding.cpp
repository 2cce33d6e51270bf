#include "kernels/elementwise/functors/unary.h"
#include "kernels/elementwise/isa_loops.h"

SHUNT_DEFINE_LOOPS(Rounding)
