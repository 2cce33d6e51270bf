// Headers for backend libraries, in addition to those for tensors and registration: device name, device guard,
// allocator, CPU fallback and load_library. <shunt/shunt.h> includes them. See docs/adapt_your_hardware.md.
#pragma once

#include <shunt/core/load_library.h>
#include <shunt/device/cpu_fallback.h>
#include <shunt/tensor/allocator.h>
#include <shunt/tensor/device_guard.h>
#include <shunt/tensor/privateuse1.h>
