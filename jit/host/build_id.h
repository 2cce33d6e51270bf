// The build id of a loaded library: what linkers make of all that is in it (--build-id), code, constants and the
// section of bitcode alike. So it stands for the bitcode of every function that comes out of the library, and nothing
// is hashed here.
#pragma once

#include <string>

namespace shunt::jit {

/// In hexadecimal, of the library or program that `address` lies in; "" where there is none, or it has no build id.
/// Read anew each time: libraries come and go. Any thread.
std::string buildIdAt(const void* address);

}  // namespace shunt::jit
