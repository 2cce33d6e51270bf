// What explanations and traces say of the calling thread's dispatch modes.
#pragma once

#include <shunt/core/dispatch_key_set.h>

#include <string>
#include <vector>

namespace shunt {

/// The keys by which calls reach modes.
inline constexpr DispatchKeySet kModeKeys{DispatchKey::Python, DispatchKey::PythonKernel};
/// What is off while a handler at kKernel runs: the calls that it makes stand where it does.
inline constexpr DispatchKeySet kOffAtKernel = kAutogradAndViewKeys | kAutocastKeys;

/// Names of the modes of a level, by its key, that are on for calls on this thread, innermost first.
std::vector<std::string> activeModeNames(DispatchKey key);

}  // namespace shunt
