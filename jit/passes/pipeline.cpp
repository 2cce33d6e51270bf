#include "jit/passes/pipeline.h"

#include "jit/passes/integer_selects.h"

#include <llvm/Analysis/InlineCost.h>
#include <llvm/Analysis/ProfileSummaryInfo.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/IPO/Inliner.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/ADCE.h>
#include <llvm/Transforms/Scalar/BDCE.h>
#include <llvm/Transforms/Scalar/DeadStoreElimination.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/GVN.h>
#include <llvm/Transforms/Scalar/IndVarSimplify.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopDeletion.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/LoopRotation.h>
#include <llvm/Transforms/Scalar/MemCpyOptimizer.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimpleLoopUnswitch.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Vectorize/LoopVectorize.h>

namespace shunt::jit {
namespace {

llvm::SimplifyCFGPass simplifyAtTheEnd() {
  return llvm::SimplifyCFGPass(llvm::SimplifyCFGOptions()
                                   .forwardSwitchCondToPhi(true)
                                   .convertSwitchToLookupTable(true)
                                   .needCanonicalLoops(false)
                                   .hoistCommonInsts(true)
                                   .sinkCommonInsts(true));
}

/// Into the form that the vectoriser knows.
void addLoopPasses(llvm::FunctionPassManager& passes, bool all) {
  llvm::LoopPassManager first, second;
  first.addPass(llvm::LoopRotatePass());
  first.addPass(llvm::LICMPass(llvm::LICMOptions()));
  first.addPass(llvm::SimpleLoopUnswitchPass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(first), /*UseMemorySSA=*/true));
  if (all) passes.addPass(llvm::SimplifyCFGPass());
  second.addPass(llvm::IndVarSimplifyPass());
  second.addPass(llvm::LoopDeletionPass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(second)));
}

void addVectorPasses(llvm::FunctionPassManager& passes, bool all) {
  passes.addPass(llvm::LoopVectorizePass(llvm::LoopVectorizeOptions(/*InterleaveOnlyWhenForced=*/true,
                                                                    /*VectorizeOnlyWhenForced=*/false)));
  passes.addPass(llvm::InstCombinePass());
  if (all) passes.addPass(simplifyAtTheEnd());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), /*UseMemorySSA=*/true));
}

}  // namespace

llvm::ModulePassManager inlinePipeline() {
  llvm::ModuleInlinerWrapperPass inliner(llvm::getInlineParams(2, 0), /*MandatoryFirst=*/false);
  inliner.addModulePass(llvm::RequireAnalysisPass<llvm::ProfileSummaryAnalysis, llvm::Module>());
  llvm::ModulePassManager passes;
  passes.addPass(std::move(inliner));
  passes.addPass(llvm::GlobalDCEPass());
  return passes;
}

llvm::ModulePassManager functionPipeline(bool all, bool folded) {
  llvm::FunctionPassManager passes;
  if (all || !folded) {
    passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
    passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  }
  if (all) passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(IntegerSelectsPass());
  passes.addPass(llvm::InstCombinePass());
  addLoopPasses(passes, all);
  if (all) passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::GVNPass(llvm::GVNOptions().setPRE(false).setLoadPRE(false)));
  passes.addPass(llvm::BDCEPass());
  if (all) {
    passes.addPass(llvm::MemCpyOptPass());
    passes.addPass(llvm::DSEPass());
    passes.addPass(llvm::ADCEPass());
  }
  passes.addPass(llvm::SimplifyCFGPass());
  addVectorPasses(passes, all);
  passes.addPass(simplifyAtTheEnd());
  llvm::ModulePassManager module;
  module.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(passes)));
  return module;
}

llvm::ModulePassManager quickPipeline(bool folded) {
  llvm::FunctionPassManager passes;
  if (!folded) {
    passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
    passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
    passes.addPass(llvm::SimplifyCFGPass());
  }
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  llvm::ModulePassManager module;
  module.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(passes)));
  return module;
}

}  // namespace shunt::jit
