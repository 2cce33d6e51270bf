#include "kernels/pointwise/functors/select.h"
#include "kernels/pointwise/isa_loops.h"

SHUNT_DEFINE_LOOPS(Mask)
