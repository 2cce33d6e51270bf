// What the sources of the plugin share, and what a test asks it for by dlsym.
#pragma once

#include <shunt/core/library.h>

namespace plugin {

void addKernels(shunt::Library& m);
/// Counts that a thread is inside, and waits until plugin_open_gate.
void enterGate();
void drain();

}  // namespace plugin

extern "C" {
/// Registers its kernels for operators of namespace `own`, which the test has defined.
SHUNT_API void plugin_load();
SHUNT_API void plugin_drain();
SHUNT_API int plugin_inside();
SHUNT_API void plugin_open_gate();
}
