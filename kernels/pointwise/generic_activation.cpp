#include "kernels/pointwise/functors/activation.h"
#include "kernels/pointwise/generic_family.h"

SHUNT_DEFINE_GENERIC_LOOPS(Activation)
