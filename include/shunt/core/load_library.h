// load_library: loads backends and operators from other projects' shared libraries at run time. Any thread.
#pragma once

#include <shunt/core/macros.h>

#include <string>

namespace shunt {

/// Loads a shared library for the rest of the process. All of its registration blocks take effect at once; then its
/// initialiser runs, if it has one (SHUNT_LIBRARY_INIT).
/// - A path without a slash is searched for as by dlopen(3).
/// - A second load of the same library does nothing, unless its initialiser threw.
/// - If the file can't be loaded, throws an error with the loader's reason.
/// - If the initialiser throws, rethrows; the library stays in memory, and the next load runs the initialiser again.
/// - An exception in a registration block ends the process, as in any static object's constructor. Put code that may
///   fail into the initialiser.
SHUNT_API void load_library(const std::string& path);

/// Defines the initialiser that load_library runs; at most one in each library.
///   SHUNT_LIBRARY_INIT() { shunt::rename_privateuse1_backend("opencl"); ... }
#define SHUNT_LIBRARY_INIT() extern "C" __attribute__((visibility("default"))) void shunt_library_init()

}  // namespace shunt
