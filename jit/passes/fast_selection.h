// The last change of a function before instructions are selected: so that FastISel can take what needs no better.
//
// Note [Fast selection]
// FastISel selects an instruction at a time, for a tenth of what SelectionDAG takes, which makes a graph of every block
// and combines its nodes. Code around loops (guards, metadata, graph nodes) gains little by that, loops gain much. LLVM
// decides by block: FastISel begins at a block's end, and what it can't select there leaves the whole block to the
// other. So
//   - what a landing pad returns, a pair, which it can't hand on to the next block, is reduced to its pointer, all that
//     continuing the unwinding needs: LLVM would make the same call of _Unwind_Resume of it later;
//   - small areas that are set to zero or copied are so by stores, for which it would make calls; zeros by stores of at
//     most 8 bytes, since it has no wider ones;
//   - an invoke, which it can't select, gets a block of its own;
//   - the branch at the end of a loop's block becomes a switch, which it can't: loops stay SelectionDAG's. Not where
//     nothing writes in any loop: those that compare sizes take as few turns as there are dimensions.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/Pass.h>

namespace shunt::jit {

/// `keep_loops`: for SelectionDAG. Whether the function was changed. Works on its caller's module; any thread.
bool prepareFastSelection(llvm::Function& function, bool keep_loops);

/// The same as a pass of the code generator's, whose owner it becomes.
llvm::FunctionPass* makeFastSelectionPass(bool keep_loops);

}  // namespace shunt::jit
