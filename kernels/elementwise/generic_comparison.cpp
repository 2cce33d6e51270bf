#include "kernels/elementwise/functors/compare.h"
#include "kernels/elementwise/generic_loop.h"

SHUNT_DEFINE_GENERIC_LOOPS(Comparison)
