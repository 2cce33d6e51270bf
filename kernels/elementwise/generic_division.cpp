#include "kernels/elementwise/functors/division.h"
#include "kernels/elementwise/generic_family.h"

SHUNT_DEFINE_GENERIC_LOOPS(Division)
