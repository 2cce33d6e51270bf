#include "kernels/pointwise/functors/division.h"
#include "kernels/pointwise/generic_family.h"

SHUNT_DEFINE_GENERIC_LOOPS(Division)
