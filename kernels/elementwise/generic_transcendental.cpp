#include "kernels/elementwise/functors/unary.h"
#include "kernels/elementwise/generic_family.h"

SHUNT_DEFINE_GENERIC_LOOPS(Transcendental)
