// Dispatch modes and compiled functions: a mode around the calls, one that the function enters, and one around
// compile() alone.
#pragma once

namespace examples {

void modes();

}  // namespace examples
