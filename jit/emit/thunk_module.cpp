#include "jit/emit/thunk_module.h"

#include "jit/emit/host_target.h"
#include "jit/emit/inline_policy.h"
#include "jit/emit/plan_constants.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

namespace shunt::jit {
namespace {

constexpr const char* kInnermostState = "shunt.innermost_state";
constexpr const char* kSnapshotName = "shunt.snapshot";

/// The marks that innermostState() left (core/op_state.h).
bool isInnermostState(const llvm::CallBase& call) {
  if (call.getIntrinsicID() != llvm::Intrinsic::annotation) return false;
  const auto* text = llvm::dyn_cast<llvm::GlobalVariable>(call.getArgOperand(1)->stripPointerCasts());
  const auto* data = text != nullptr && text->hasInitializer() ? llvm::dyn_cast<llvm::ConstantDataArray>(text->getInitializer()) : nullptr;
  return data != nullptr && data->isCString() && data->getAsCString() == kInnermostState;
}

/// Imports what the policy asks for, until nothing more is asked for.
void importCallees(Extraction& extraction) {
  InlinePolicy policy;
  for (bool changed = true; changed;) {
    changed = false;
    for (llvm::Function* f : extraction.declarations()) {
      if (!policy.wants(*f)) continue;
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

void replaceInnermostState(llvm::Module& module, llvm::Constant* snapshot) {
  for (llvm::Function& f : module)
    for (auto i = llvm::inst_begin(f), end = llvm::inst_end(f); i != end;) {
      auto* call = llvm::dyn_cast<llvm::CallBase>(&*i++);
      if (call == nullptr || !isInnermostState(*call)) continue;
      call->replaceAllUsesWith(llvm::ConstantExpr::getPtrToInt(snapshot, call->getType()));
      call->eraseFromParent();
    }
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
  // The chain's own kernels are reached through the snapshot's table only, so they are brought in by name.
  for (const Step& step : plan.steps)
    if (step.verdict == StepVerdict::kInline) {
      auto f = extraction.import(step.symbol);
      if (!f) return f.takeError();
      (*f)->addFnAttr(llvm::Attribute::AlwaysInline);
    }
  importCallees(extraction);
  if (auto e = putExpectedOperands(plan, extraction)) return e;
  importCallees(extraction);

  auto snapshot = makeSnapshot(plan, extraction, kSnapshotName);
  if (!snapshot) return snapshot.takeError();
  replaceInnermostState(extraction.module(), *snapshot);
  makeRoot(plan, extraction.module(), **top);
  return llvm::Error::success();
}

std::string unfolded(const llvm::Module& module) {
  if (const auto* snapshot = module.getNamedGlobal(kSnapshotName); snapshot != nullptr && !snapshot->use_empty())
    return "a wrapper redispatches with keys that are known at run time only";
  return "";
}

}  // namespace shunt::jit
