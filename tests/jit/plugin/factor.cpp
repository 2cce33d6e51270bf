// A function of one name in several libraries, which differ in what it returns. An ordinary source: of default
// visibility.
#include "tests/jit/plugin/scaled.h"

double factor() { return PLUGIN_FACTOR; }
