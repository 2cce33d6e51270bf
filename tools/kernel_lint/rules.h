// What kernel_lint refuses, and why: the bits of a result may not depend on whether the interpreter, a thunk or the
// loop of another instruction set computed it, and code that a thunk copies may not copy state with it.
//
// Each check appends one Finding a violation, in the order of the input. Pure functions of their input, any thread.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Object/ObjectFile.h>

#include <string>
#include <vector>

namespace shunt::lint {

struct Finding {
  std::string where;  // source file and function
  std::string what;   // the violation and what to do instead
};
using Findings = std::vector<Finding>;

/// Rules for a kernel unit's bitcode: no libm names, no inexact intrinsics, no fast-math, no mutable state, no module
/// assembler.
void checkModule(const llvm::Module& module, Findings& findings);

/// The same for a unit of somebody else's, which may register its kernels itself: only what the kernels reach counts.
/// In a unit without kernels, what its functions with external linkage reach.
void checkOwnModule(const llvm::Module& module, Findings& findings);

/// Rules for an object of one instruction set: no weak symbol (but read-only data), no static initialiser, no libm
/// names.
void checkIsaObject(const llvm::object::ObjectFile& object, Findings& findings);

}  // namespace shunt::lint
