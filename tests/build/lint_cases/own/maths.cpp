// expect: uses llvm.exp.f32
#include "boxing.h"

#include <cmath>

static int exponential(int x) { return static_cast<int>(std::exp(static_cast<float>(x))); }
void load() { registerKernel(&shunt::boxing::StaticKernel<exponential>::call); }
