#include "kernels/pointwise/functors/unary.h"
#include "kernels/pointwise/generic_family.h"

SHUNT_DEFINE_GENERIC_LOOPS(Transcendental)
