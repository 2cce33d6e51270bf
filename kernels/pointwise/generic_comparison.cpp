#include "kernels/pointwise/functors/compare.h"
#include "kernels/pointwise/generic_family.h"

SHUNT_DEFINE_GENERIC_LOOPS(Comparison)
