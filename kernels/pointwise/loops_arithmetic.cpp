#include "kernels/pointwise/functors/arithmetic.h"
#include "kernels/pointwise/isa_loops.h"

SHUNT_DEFINE_LOOPS(Arithmetic)
