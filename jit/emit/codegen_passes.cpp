#include "jit/emit/codegen_passes.h"

#include "jit/host/host_target.h"
#include "jit/passes/fast_selection.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Pass.h>

#include <memory>

namespace shunt::jit {
namespace {

// Behind CodeGenPrepare, which would take the fast selection's preparation back.
constexpr llvm::StringLiteral kBeforeSelection = "Exception handling preparation";

constexpr llvm::StringLiteral kNeverWanted[] = {
    // For what thunks don't have.
    "Expand large div/rem",
    "Expand large fp convert",
    "Lower AMX intrinsics",
    "Lower AMX type for load/store",
    "Tile Register Pre-configure",
    "Tile Register Configure",
    "X86 Lower Tile Copy",
    "Lower Garbage Collection Instructions",
    "Shadow Stack GC Lowering",
    "Fixup Statepoint Caller Saved",
    "Analyze Machine Code For Garbage Collection",
    "StackMap Liveness Analysis",
    "Expand memcmp() to load/stores",
    "Replace intrinsics with calls to vector library",
    "Expand vector predication intrinsics",
    "Instrument function entry/exit with calls to e.g. mcount() (post inlining)",
    "TLS Variable Hoist",
    "Local Dynamic TLS Access Clean-up",
    "Expand indirectbr instructions",
    "Prepare callbr",
    "Safe Stack instrumentation pass",
    "X86 PIC Global Base Reg Initialization",
    "Argument Stack Rebase",
    "X86 Windows Fixup Buffer Security Check",
    "X86 speculative load hardening",
    "X86 Load Value Injection (LVI) Load Hardening",
    "X86 Load Value Injection (LVI) Ret-Hardening",
    "X86 Speculative Execution Side Effect Suppression",
    "X86 Indirect Thunks",
    "X86 Return Thunks",
    "X86 Indirect Branch Tracking",
    "Insert KCFI indirect call checks",
    "Insert fentry calls",
    "Insert XRay ops",
    "Implement the 'patchable-function' attribute",
    "Remove Redundant DEBUG_VALUE analysis",
    "Live DEBUG_VALUE analysis",
    "Pseudo Probe Inserter",
    "X86 Discriminate Memory Operands",
    "X86 Insert Cache Prefetches",
    "X86 Atom pad short functions",
    "Contiguously Lay Out Funclets",
    "Machine Sanitizer Binary Metadata",
    "Stack Frame Layout Analysis",
    // Switched off by name, or for other processors; each would ask for analyses all the same.
    "X86 Domain Reassignment Pass",
    "Early If-Conversion",
    "X86 cmov Conversion",
    "Machine Instruction Scheduler",
    "Post RA top-down list latency scheduler",
    "Register Allocation Pass Scoring",
    "Rename Disconnected Subregister Components",
    "Init Undef Pass",
    "Local Stack Slot Allocation",
    // Gains nothing.
    "Optimize machine instruction PHIs",
    "Live Variable Analysis",
    "Detect Dead Lanes",
    "Shrink Wrapping analysis",
    "Control Flow Optimizer",
    "Remove dead machine instructions",
};

constexpr llvm::StringLiteral kForLoops[] = {
    "Interleaved Access Pass",
    "X86 Partial Reduction",
    "Early Machine Loop Invariant Code Motion",
    "Machine InstCombiner",
    "Machine Common Subexpression Elimination",
    "Peephole Optimizations",
    "Live Range Shrink",
    "X86 Fixup SetCC",
    "X86 LEA Optimize",
    "X86 Avoid Store Forwarding Blocks",
    "Machine Late Instructions Cleanup Pass",
    "X86 Execution Dependency Fix",
    "BreakFalseDeps",
    "X86 Byte/Word Instruction Fixup",
    "X86 Fixup Inst Tuning",
    "X86 Fixup Vector Constants",
    "Machine Copy Propagation Pass",
};

}  // namespace

llvm::ArrayRef<llvm::StringLiteral> passesLeftOut() { return kNeverWanted; }

llvm::ArrayRef<llvm::StringLiteral> passesForLoops() { return kForLoops; }

std::unique_ptr<llvm::TargetMachine> codegenMachine(Effort effort) {
  return HostTarget::instance().makeCodegenMachine(
      effort == Effort::kLittle ? llvm::CodeGenOptLevel::Less : llvm::CodeGenOptLevel::Default,
      /*fast=*/effort != Effort::kAll);
}

void CodegenPasses::add(llvm::Pass* pass) {
  std::unique_ptr<llvm::Pass> owned(pass);
  const llvm::StringRef name = pass->getPassName();
  if (effort_ == Effort::kAll) return llvm::legacy::PassManager::add(owned.release());
  if (name == kBeforeSelection)
    llvm::legacy::PassManager::add(makeFastSelectionPass(/*keep_loops=*/effort_ == Effort::kFull));
  if (llvm::is_contained(kNeverWanted, name)) return;
  if (effort_ == Effort::kLittle && llvm::is_contained(kForLoops, name)) return;
  llvm::legacy::PassManager::add(owned.release());
}

}  // namespace shunt::jit
