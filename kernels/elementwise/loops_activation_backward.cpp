#include "kernels/elementwise/functors/activation.h"
#include "kernels/elementwise/isa_loops.h"

SHUNT_DEFINE_LOOPS(ActivationBackward)
