// Shunt's warnings as Python's.
#pragma once

namespace shunt::python {

/// From now on warnings of the library are warnings.warn's (UserWarning) where the interpreter runs.
void sendLogToPython();

}  // namespace shunt::python
