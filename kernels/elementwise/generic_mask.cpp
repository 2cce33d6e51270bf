#include "kernels/elementwise/functors/select.h"
#include "kernels/elementwise/generic_family.h"

SHUNT_DEFINE_GENERIC_LOOPS(Mask)
