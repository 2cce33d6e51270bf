#include "kernels/pointwise/functors/unary.h"
#include "kernels/pointwise/isa_loops.h"

SHUNT_DEFINE_LOOPS(Trig)
