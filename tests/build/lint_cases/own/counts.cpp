// expect: reaches the mutable variable counted(int)::calls
#include "boxing.h"

static int counted(int x) {
  static int calls = 0;
  return x + ++calls;
}
void load() { registerKernel(&shunt::boxing::StaticKernel<counted>::call); }
