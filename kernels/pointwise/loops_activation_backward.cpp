#include "kernels/pointwise/functors/activation.h"
#include "kernels/pointwise/isa_loops.h"

SHUNT_DEFINE_LOOPS(ActivationBackward)
