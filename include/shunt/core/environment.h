// Switches from the environment: read, checked, and where the value is bad said once per reader.
//
// A reader calls once and keeps the answer. Any thread, as long as nobody changes the environment.
#pragma once

#include <shunt/core/macros.h>

#include <cstdint>
#include <string>

namespace shunt::detail {

/// `name`=0|1; unset, empty or anything else gives the fallback, the last with a warning.
SHUNT_API bool flagFromEnvironment(const char* name, bool fallback);
/// A whole number from `least` to `most`.
SHUNT_API int64_t numberFromEnvironment(const char* name, int64_t fallback, int64_t least, int64_t most);
/// A directory, which is made where it doesn't exist; empty where `name` is unset, or, with a warning, can't be made.
SHUNT_API std::string directoryFromEnvironment(const char* name);

}  // namespace shunt::detail
