// expect: reaches the mutable variable calls
// Behind a constant table of functions.
#include "boxing.h"

static int calls = 0;
[[gnu::noinline]] static int count(int x) { return x + ++calls; }
[[gnu::noinline]] static int zero(int) { return 0; }
static int (*const kTable[])(int) = {count, zero};
static int indirect(int x) { return kTable[x & 1](x); }
void load() { registerKernel(&shunt::boxing::StaticKernel<indirect>::call); }
