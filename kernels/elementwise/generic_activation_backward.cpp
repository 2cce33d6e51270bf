#include "kernels/elementwise/functors/activation.h"
#include "kernels/elementwise/generic_loop.h"

SHUNT_DEFINE_GENERIC_LOOPS(ActivationBackward)
