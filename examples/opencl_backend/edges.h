// Calls at the edge of what the device has kernels for.
#pragma once

#include <shunt/shunt.h>

/// Makes each on the CPU and on the device, prints those whose results or errors differ, and says whether none does.
bool runEdges(shunt::Device device);
