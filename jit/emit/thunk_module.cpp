#include "jit/emit/thunk_module.h"

#include "jit/emit/plan_constants.h"
#include "jit/emit/planned_calls.h"
#include "jit/host/host_target.h"
#include "jit/plan/inline_policy.h"
#include "jit/plan/plan_symbols.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

namespace shunt::jit {
namespace {

/// Imports what the policy asks for, until nothing more is asked for.
void importCallees(InlinePolicy& policy, Extraction& extraction) {
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

/// The kernel that a function of the chain calls. Where that is a generated one apart, which checks devices, also what
/// it calls.
void importKernel(llvm::Function& caller, const Step& step, const InlinePolicy& policy, Extraction& extraction) {
  for (llvm::Instruction& i : llvm::instructions(caller)) {
    auto* call = llvm::dyn_cast<llvm::CallBase>(&i);
    llvm::Function* kernel = call != nullptr ? call->getCalledFunction() : nullptr;
    if (kernel == nullptr || kernel->isIntrinsic() || !isChainFunction(kernel->getName())) continue;
    if (kernel->isDeclaration()) {
      if (!policy.wantsKernel(*kernel, step, extraction)) continue;
      if (auto imported = extraction.import(kernel->getName().str()); !imported) {
        llvm::consumeError(imported.takeError());  // it is called instead
        continue;
      }
    }
    if (kernel->hasFnAttribute(llvm::Attribute::NoInline)) continue;
    const bool known = kernel->hasFnAttribute(llvm::Attribute::AlwaysInline);
    kernel->addFnAttr(llvm::Attribute::AlwaysInline);
    if (!known && isGeneratedKernel(kernel->getName())) importKernel(*kernel, step, policy, extraction);
  }
}

/// The chain's own kernels are reached through the plan's table only, so they are brought in by name; and what their
/// unboxed form calls is the kernel itself.
llvm::Error importChain(const Chain& chain, const InlinePolicy& policy, Extraction& extraction) {
  for (const Step& step : chain.steps) {
    if (step.verdict != StepVerdict::kInline) continue;
    auto unboxed = extraction.import(step.symbol);
    if (!unboxed) return unboxed.takeError();
    (*unboxed)->addFnAttr(llvm::Attribute::AlwaysInline);
    importKernel(**unboxed, step, policy, extraction);
  }
  return llvm::Error::success();
}

/// The chains of operators that are called from what is here already, and from each other: these are used.
llvm::Error importInner(const Plan& plan, Reliance& reliance, InlinePolicy& policy, Extraction& extraction) {
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < plan.inner.size(); ++i) {
      const Chain& chain = plan.inner[i];
      bool& used = reliance[i + 1].used;
      if (used || !policy.hasRoomForChain(extraction.module())) continue;
      auto called = putPlannedCall(chain, extraction);
      if (!called) return called.takeError();
      if (!*called) continue;
      used = changed = true;
      Functions others;
      for (const llvm::Function& f : extraction.module())
        if (!f.isDeclaration()) others.insert(&f);
      if (auto e = importChain(chain, policy, extraction)) return e;
      if (auto e = putPlannedRedispatch(plan, i + 1, extraction, others)) return e;
      importCallees(policy, extraction);
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
  arguments[functor] = PlanSymbols(plan).constant(module, plan.steps.front().entry.functor);
  arguments[functor + 1] = b.getInt64(plan.request.keys);
  auto* call = b.CreateCall(&top, arguments);
  call->setAttributes(top.getAttributes());
  call->removeFnAttr(llvm::Attribute::AlwaysInline);
  call->setCallingConv(top.getCallingConv());
  if (call->getType()->isVoidTy())
    b.CreateRetVoid();
  else
    b.CreateRet(call);
}

}  // namespace

llvm::Expected<Reliance> buildThunk(const Plan& plan, Reliance reliance, Extraction& extraction) {
  InlinePolicy policy(plan);
  auto top = extraction.import(plan.steps.front().symbol);
  if (!top) return top.takeError();
  if (auto e = importChain(plan, policy, extraction)) return std::move(e);
  if (auto e = putPlannedRedispatch(plan, 0, extraction, {})) return std::move(e);
  importCallees(policy, extraction);
  if (plan.inlinesOperators())
    if (auto e = importInner(plan, reliance, policy, extraction)) return std::move(e);
  sharePlannedCalls(plan, reliance, extraction.module());
  putPlans(plan, reliance, extraction);
  if (auto e = putExpectedOperands(plan, extraction)) return std::move(e);
  putMissCount(plan, extraction.module());
  importCallees(policy, extraction);
  makeRoot(plan, extraction.module(), **top);
  return reliance;
}

}  // namespace shunt::jit
