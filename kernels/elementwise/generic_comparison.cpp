#include "kernels/elementwise/functors/compare.h"
#include "kernels/elementwise/generic_family.h"

SHUNT_DEFINE_GENERIC_LOOPS(Comparison)
