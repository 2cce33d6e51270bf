#include "jit/emit/count_calls.h"

#include "jit/emit/plan_constants.h"
#include "jit/emit/thunk_module.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>

namespace shunt::jit {
namespace {

void addOneBefore(llvm::Instruction& at, std::atomic<uint64_t>& counter) {
  llvm::IRBuilder<> b(&at);
  auto* address = llvm::ConstantExpr::getIntToPtr(b.getInt64(reinterpret_cast<uint64_t>(&counter)), b.getPtrTy());
  b.CreateAtomicRMW(llvm::AtomicRMWInst::Add, address, b.getInt64(1), llvm::Align(8), llvm::AtomicOrdering::Monotonic);
}

}  // namespace

void countCalls(llvm::Module& module, CallCounters& counters) {
  addOneBefore(*module.getFunction(kThunkName)->getEntryBlock().getFirstInsertionPt(), counters.calls);
  llvm::SmallVector<llvm::CallBase*> misses;
  for (llvm::Function& f : module)
    for (llvm::Instruction& i : llvm::instructions(f))
      if (auto* call = llvm::dyn_cast<llvm::CallBase>(&i); call != nullptr && isGuardMiss(*call)) misses.push_back(call);
  for (llvm::CallBase* call : misses) addOneBefore(*call, counters.guard_misses);
}

}  // namespace shunt::jit
