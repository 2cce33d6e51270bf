#include "jit/emit/count_calls.h"

#include "jit/emit/plan_constants.h"
#include "jit/emit/thunk_module.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>

namespace shunt::jit {
namespace {

void addOneBefore(llvm::Instruction& at, llvm::Constant& counter) {
  llvm::IRBuilder<> b(&at);
  b.CreateAtomicRMW(llvm::AtomicRMWInst::Add, &counter, b.getInt64(1), llvm::Align(8), llvm::AtomicOrdering::Monotonic);
}

}  // namespace

void countCalls(llvm::Module& module, const PlanSymbols& symbols, const CallCounters& counters) {
  addOneBefore(*module.getFunction(kThunkName)->getEntryBlock().getFirstInsertionPt(),
               *symbols.constant(module, &counters.calls));
  llvm::SmallVector<llvm::CallBase*> misses;
  for (llvm::Function& f : module)
    for (llvm::Instruction& i : llvm::instructions(f))
      if (auto* call = llvm::dyn_cast<llvm::CallBase>(&i); call != nullptr && isGuardMiss(*call))
        misses.push_back(call);
  for (llvm::CallBase* call : misses) addOneBefore(*call, *symbols.constant(module, &counters.guard_misses));
}

}  // namespace shunt::jit
