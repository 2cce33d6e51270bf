// Whether what an operator's table leads to is a kernel of the library itself: only those may be left out, or replaced
// by something that computes the same. Pure functions; any thread.
#pragma once

#include <shunt/core/op_state.h>

namespace shunt::detail {

/// Keys above the backend's that plain tensors may have or a thread may add.
inline constexpr DispatchKey kAboveBackends[] = {DispatchKey::AutogradCPU, DispatchKey::ADInplaceOrView,
                                                 DispatchKey::AutocastCPU, DispatchKey::BackendSelect};

/// Whether the kernel's code lies in the library.
bool isOfThisLibrary(const TableEntry& entry);
/// Whether the entry leads to a kernel of the program. False where there is no kernel.
bool isOfProgram(const TableEntry& entry);
/// Whether calls of the operator for tensors of this device, with any of the keys above, may run one.
bool mayRunProgramKernel(const Operator& op, BackendComponent backend);

}  // namespace shunt::detail
