// The device inside what else a call can run in or with: modes, wrappers, grad modes.
#pragma once

#include <shunt/shunt.h>

/// Runs a few operators on the device in each, prints a line each, and says whether all do what they do on the CPU.
bool runPairs(shunt::Device device);
