#include "kernels/elementwise/functors/select.h"
#include "kernels/elementwise/isa_loops.h"

SHUNT_DEFINE_LOOPS(Select)
