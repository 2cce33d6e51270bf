// load_library: backends and operators from shared libraries of other projects, at run time.
#pragma once

#include <shunt/core/macros.h>

#include <string>

namespace shunt {

/// Loads a shared library into the process for good: its SHUNT_LIBRARY and SHUNT_LIBRARY_IMPL blocks register what they
/// hold, all of it at once, and then its initialiser runs, if it has one (SHUNT_LIBRARY_INIT). A path without a slash
/// is searched for as dlopen(3) does. A library that is loaded already is not loaded again. Throws when the file can't
/// be loaded, with the loader's reason, and what the initialiser throws; then the library stays in memory, and loading
/// it again runs the initialiser again. Any thread.
///
/// What a block throws while it is loaded ends the process, as an exception of any static object does: what may fail
/// belongs into the initialiser.
SHUNT_API void load_library(const std::string& path);

/// The initialiser of a library that load_library loads: one in each library.
///   SHUNT_LIBRARY_INIT() { shunt::rename_privateuse1_backend("opencl"); ... }
#define SHUNT_LIBRARY_INIT() extern "C" __attribute__((visibility("default"))) void shunt_library_init()

}  // namespace shunt
