#include "kernels/elementwise/functors/unary.h"
#include "kernels/elementwise/generic_loop.h"

SHUNT_DEFINE_GENERIC_LOOPS(Transcendental)
