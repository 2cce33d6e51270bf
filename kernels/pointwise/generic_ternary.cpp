#include "kernels/pointwise/functors/arithmetic.h"
#include "kernels/pointwise/generic_family.h"

SHUNT_DEFINE_GENERIC_LOOPS(Ternary)
