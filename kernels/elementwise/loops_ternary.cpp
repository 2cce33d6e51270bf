#include "kernels/elementwise/functors/arithmetic.h"
#include "kernels/elementwise/isa_loops.h"

SHUNT_DEFINE_LOOPS(Ternary)
