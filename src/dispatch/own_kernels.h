// Whether what an operator's table leads to is a kernel of the library itself: only those may be left out, or replaced
// by something that computes the same. Pure functions; any thread.
#pragma once

#include <shunt/core/op_state.h>

namespace shunt::detail {

/// Whether the kernel's code lies in the library.
bool isOfThisLibrary(const TableEntry& entry);

}  // namespace shunt::detail
