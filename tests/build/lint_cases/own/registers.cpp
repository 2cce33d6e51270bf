// expect: clean
// What registers kernels has state; the kernels have none.
#include "boxing.h"

static int twice(int x) { return x + x; }
void load() {
  static int times = 0;
  if (++times == 1) registerKernel(&shunt::boxing::StaticKernel<twice>::call);
}
