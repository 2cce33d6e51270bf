#include "kernels/pointwise/functors/select.h"
#include "kernels/pointwise/generic_family.h"

SHUNT_DEFINE_GENERIC_LOOPS(Select)
