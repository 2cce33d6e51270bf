// The library's entry: the device first, which may fail; and everything without a kernel here to the CPU.
#include "device.h"

#include <shunt/shunt.h>

SHUNT_LIBRARY_INIT() { opencl::registerDevice(); }

SHUNT_LIBRARY_IMPL(_, PrivateUse1, m) { m.fallback(shunt::CppFunction::makeFromBoxedFunction<&shunt::cpu_fallback>()); }
