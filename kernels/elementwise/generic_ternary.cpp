#include "kernels/elementwise/functors/arithmetic.h"
#include "kernels/elementwise/generic_family.h"

SHUNT_DEFINE_GENERIC_LOOPS(Ternary)
