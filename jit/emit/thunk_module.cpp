#include "jit/emit/thunk_module.h"

#include "jit/emit/host_target.h"
#include "jit/emit/inline_policy.h"
#include "jit/emit/plan_constants.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

namespace shunt::jit {
namespace {

constexpr const char* kSnapshotName = "shunt.snapshot";

/// Imports what the policy asks for, until nothing more is asked for.
void importCallees(const Plan& plan, Extraction& extraction) {
  InlinePolicy policy(!plan.loop.empty());
  for (bool changed = true; changed;) {
    changed = false;
    for (llvm::Function* f : extraction.declarations()) {
      if (!policy.wants(*f, extraction)) continue;
      const std::string name = f->getName().str();
      if (auto imported = extraction.import(name)) {
        policy.imported(**imported);
        changed = true;
      } else {
        policy.refused(name);
        llvm::consumeError(imported.takeError());  // it is called instead
      }
    }
  }
}

/// The chain's own kernels are reached through the plan's table only, so they are brought in by name; and what their
/// unboxed form calls is the kernel itself.
llvm::Error importChain(const Plan& plan, Extraction& extraction) {
  const InlinePolicy policy(!plan.loop.empty());
  for (const Step& step : plan.steps) {
    if (step.verdict != StepVerdict::kInline) continue;
    auto unboxed = extraction.import(step.symbol);
    if (!unboxed) return unboxed.takeError();
    (*unboxed)->addFnAttr(llvm::Attribute::AlwaysInline);
    for (llvm::Instruction& i : llvm::instructions(**unboxed)) {
      auto* call = llvm::dyn_cast<llvm::CallBase>(&i);
      llvm::Function* kernel = call != nullptr ? call->getCalledFunction() : nullptr;
      if (kernel == nullptr || kernel->isIntrinsic() || !isChainFunction(kernel->getName())) continue;
      if (kernel->isDeclaration()) {
        if (!policy.wantsKernel(*kernel, extraction)) continue;
        if (auto imported = extraction.import(kernel->getName().str()); !imported) {
          llvm::consumeError(imported.takeError());  // it is called instead
          continue;
        }
      }
      if (!kernel->hasFnAttribute(llvm::Attribute::NoInline)) kernel->addFnAttr(llvm::Attribute::AlwaysInline);
    }
  }
  return llvm::Error::success();
}

/// `thunk(..., keys, ...)`: the top kernel with the plan's keyset.
void makeRoot(const Plan& plan, llvm::Module& module, llvm::Function& top) {
  auto* thunk = llvm::Function::Create(top.getFunctionType(), llvm::GlobalValue::ExternalLinkage, kThunkName, module);
  thunk->copyAttributesFrom(&top);
  thunk->setLinkage(llvm::GlobalValue::ExternalLinkage);
  thunk->setVisibility(llvm::GlobalValue::DefaultVisibility);
  thunk->setComdat(nullptr);
  thunk->setPersonalityFn(nullptr);
  thunk->removeFnAttr(llvm::Attribute::AlwaysInline);
  HostTarget::instance().prepare(*thunk);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(module.getContext(), "entry", thunk));
  std::vector<llvm::Value*> arguments;
  for (llvm::Argument& a : thunk->args()) arguments.push_back(&a);
  // R f(OperatorKernel*, DispatchKeySet, A...), after the pointer to the result where there is one.
  const size_t functor = top.hasStructRetAttr() ? 1 : 0;
  auto* pointer = llvm::cast<llvm::PointerType>(arguments[functor]->getType());
  arguments[functor] = llvm::ConstantExpr::getIntToPtr(
      b.getInt64(reinterpret_cast<uint64_t>(plan.steps.front().entry.functor)), pointer);
  arguments[functor + 1] = b.getInt64(plan.request.keys);
  auto* call = b.CreateCall(&top, arguments);
  call->setAttributes(top.getAttributes());
  call->removeFnAttr(llvm::Attribute::AlwaysInline);
  call->setCallingConv(top.getCallingConv());
  if (call->getType()->isVoidTy()) b.CreateRetVoid();
  else b.CreateRet(call);
}

}  // namespace

llvm::Error buildThunk(const Plan& plan, Extraction& extraction) {
  auto top = extraction.import(plan.steps.front().symbol);
  if (!top) return top.takeError();
  if (auto e = importChain(plan, extraction)) return e;
  if (auto e = putPlannedRedispatch(plan, extraction, kSnapshotName)) return e;
  importCallees(plan, extraction);
  if (auto e = putExpectedOperands(plan, extraction)) return e;
  importCallees(plan, extraction);
  makeRoot(plan, extraction.module(), **top);
  return llvm::Error::success();
}

std::string unfolded(const llvm::Module& module) {
  if (const auto* snapshot = module.getNamedGlobal(kSnapshotName); snapshot != nullptr && !snapshot->use_empty())
    return "a wrapper redispatches with keys that are known at run time only";
  return "";
}

}  // namespace shunt::jit
