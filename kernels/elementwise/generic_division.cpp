#include "kernels/elementwise/functors/division.h"
#include "kernels/elementwise/generic_loop.h"

SHUNT_DEFINE_GENERIC_LOOPS(Division)
