#include "kernels/elementwise/functors/select.h"
#include "kernels/elementwise/generic_loop.h"

SHUNT_DEFINE_GENERIC_LOOPS(Select)
