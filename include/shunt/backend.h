// What a backend library needs, of <shunt/shunt.h>, beside tensors and registration: the device's name, guard and
// allocator, the CPU fallback, and loading the library. docs/adapt_your_hardware.md shows how they go together.
#pragma once

#include <shunt/core/load_library.h>
#include <shunt/device/cpu_fallback.h>
#include <shunt/tensor/allocator.h>
#include <shunt/tensor/device_guard.h>
#include <shunt/tensor/privateuse1.h>
