#include "jit/emit/optimise.h"

#include "jit/emit/flatten.h"
#include "jit/host/host_target.h"
#include "jit/host/stopping.h"
#include "jit/passes/instrument.h"
#include "jit/passes/pipeline.h"
#include "jit/passes/shared_constants.h"
#include "jit/passes/thread_local.h"

#include <llvm/Analysis/CFG.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>

#include <optional>

namespace shunt::jit {
namespace {

// What a pipeline needs, in the order in which it must be destroyed.
struct Analyses {
  llvm::LoopAnalysisManager loop;
  llvm::FunctionAnalysisManager function;
  llvm::CGSCCAnalysisManager cgscc;
  llvm::ModuleAnalysisManager module;

  Analyses(llvm::PassBuilder& builder, const std::string& triple) {
    llvm::TargetLibraryInfoImpl library{llvm::Triple(triple)};
    library.disableAllFunctions();
    function.registerPass(
        [library] { return llvm::TargetLibraryAnalysis(library); });  // the first one registered stays
    builder.registerModuleAnalyses(module);
    builder.registerCGSCCAnalyses(cgscc);
    builder.registerFunctionAnalyses(function);
    builder.registerLoopAnalyses(loop);
    builder.crossRegisterProxies(loop, function, cgscc, module);
  }
};

/// One that a vector loop could be made of. Those that compare sizes write nothing.
bool writes(const llvm::Loop& loop) {
  return llvm::any_of(loop.blocks(), [](const llvm::BasicBlock* block) {
    return llvm::any_of(*block, [](const llvm::Instruction& i) { return llvm::isa<llvm::StoreInst>(i); });
  });
}

/// Whether what flattening left in the module has such loops.
bool hasLoops(llvm::Module& module) {
  return llvm::any_of(module, [](llvm::Function& f) {
    if (f.isDeclaration() || f.hasLocalLinkage()) return false;
    llvm::SmallVector<std::pair<const llvm::BasicBlock*, const llvm::BasicBlock*>, 4> back_edges;
    llvm::FindFunctionBackedges(f, back_edges);
    if (back_edges.empty()) return false;
    llvm::DominatorTree dominators(f);
    llvm::LoopInfo loops(dominators);
    return llvm::any_of(loops.getLoopsInPreorder(), [](const llvm::Loop* loop) { return writes(*loop); });
  });
}

bool hasFunctionsToInline(const llvm::Module& module) {
  return llvm::any_of(module, [](const llvm::Function& f) { return !f.isDeclaration() && f.hasLocalLinkage(); });
}

}  // namespace

llvm::Expected<Effort> optimise(llvm::Module& module, std::vector<Redispatch>* redispatches, Tier tier, Effort most) {
  const HostTarget& target = HostTarget::instance();
  const HostTarget::Machine machine = target.makeMachine();
  llvm::PassInstrumentationCallbacks callbacks;
  leaveOutPassesWhenStopping(callbacks);
  llvm::PassBuilder builder(machine.get(), llvm::PipelineTuningOptions(), std::nullopt, &callbacks);
  Analyses analyses(builder, target.triple());
  flatten(module, analyses.module);
  const bool inlines = tier == Tier::kSecond && hasFunctionsToInline(module);
  if (inlines) inlinePipeline().run(module, analyses.module);
  const bool quick = tier == Tier::kFirst || !hasLoops(module);
  giveBack(module);
  analyses.module.invalidate(module, llvm::PreservedAnalyses::none());
  const bool folded = !inlines;
  (quick ? quickPipeline(folded) : functionPipeline(most == Effort::kAll, folded)).run(module, analyses.module);
  auto taken = takeRedispatches(module);
  if (redispatches != nullptr) *redispatches = std::move(taken);

  // Last, because alias analysis knows variables apart and offsets from the thread pointer not.
  if (llvm::Error error = lowerThreadLocals(module, HostSymbols::instance())) return std::move(error);
  analyses.module.clear();
  analyses.cgscc.clear();
  analyses.function.clear();
  analyses.loop.clear();
  llvm::ModulePassManager passes;
  if (!quick) passes.addPass(llvm::createModuleToFunctionPassAdaptor(llvm::EarlyCSEPass()));
  passes.addPass(llvm::GlobalDCEPass());  // operators' states that were folded away, of 4 KB each
  passes.run(module, analyses.module);
  if (llvm::Error error = shareConstants(module)) return std::move(error);
  instrument(module, analyses.module);
  return quick ? Effort::kLittle : most;
}

}  // namespace shunt::jit
