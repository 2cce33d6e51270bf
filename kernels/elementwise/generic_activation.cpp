#include "kernels/elementwise/functors/activation.h"
#include "kernels/elementwise/generic_family.h"

SHUNT_DEFINE_GENERIC_LOOPS(Activation)
