#include "jit/emit/plan_constants.h"

#include "jit/emit/flatten.h"
#include "jit/emit/image.h"
#include "jit/emit/planned_calls.h"
#include "jit/plan/plan_symbols.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/Local.h>

#include <cstddef>

namespace shunt::jit {
namespace {

/// Calls that lead from an expecting function to the interpreter's.
constexpr const char* kGuardMiss = "shunt-guard-miss";

llvm::StringRef nameOf(const void* address) {
  const auto name = HostSymbols::instance().name(reinterpret_cast<uint64_t>(address));
  return name ? llvm::StringRef(*name) : llvm::StringRef();
}

/// Elements are independent, and an output is one of the inputs exactly or not at all (expected.h): no run-time checks
/// for overlap. One vector at a time: interleaved ones would leave short tensors to the scalar tail.
void markIndependent(llvm::Function& f) {
  llvm::LLVMContext& context = f.getContext();
  llvm::DominatorTree dominators(f);
  llvm::LoopInfo loops(dominators);
  for (llvm::Loop* loop : loops.getLoopsInPreorder()) {
    llvm::MDNode* group = llvm::MDNode::getDistinct(context, {});
    for (llvm::BasicBlock* block : loop->blocks())
      for (llvm::Instruction& i : *block)
        if (i.mayReadOrWriteMemory()) i.setMetadata(llvm::LLVMContext::MD_access_group, group);
    const auto property = [&](llvm::StringRef name, llvm::Metadata* value) {
      return llvm::MDNode::get(context, {llvm::MDString::get(context, name), value});
    };
    auto* one = llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), 1));
    llvm::MDNode* id = llvm::MDNode::getDistinct(context, {nullptr, property("llvm.loop.parallel_accesses", group),
                                                           property("llvm.loop.interleave.count", one)});
    id->replaceOperandWith(0, id);
    loop->setLoopID(id);
  }
}

/// The function and all that came with it are one loop. What it calls is inlined late, when the dtypes have become
/// constants and most of a cast's cases don't even have to be copied. What can't throw is marked so: a call that could
/// becomes an invoke, which would lose its mark of independence.
void inlineWhole(llvm::Function& f, llvm::StringRef how) {
  if (f.isDeclaration() || f.hasFnAttribute(llvm::Attribute::NoInline) || f.hasFnAttribute(llvm::Attribute::Cold))
    return;
  if (f.hasFnAttribute(how)) return;
  f.addFnAttr(how);
  bool throws = false;
  for (llvm::Instruction& i : llvm::instructions(f)) {
    auto* call = llvm::dyn_cast<llvm::CallBase>(&i);
    if (call != nullptr && call->getCalledFunction() != nullptr) inlineWhole(*call->getCalledFunction(), how);
    throws |= i.mayThrow();
  }
  if (!throws) f.setDoesNotThrow();
}

/// Calls of `from` become calls of `to`, which takes the first of its arguments.
void redirectShortened(llvm::Function& from, llvm::Function& to) {
  for (llvm::User* user : llvm::make_early_inc_range(from.users())) {
    auto* call = llvm::dyn_cast<llvm::CallBase>(user);
    if (call == nullptr || call->getCalledFunction() != &from) continue;
    llvm::SmallVector<llvm::Value*> arguments(call->arg_begin(), call->arg_begin() + to.arg_size());
    llvm::SmallVector<llvm::AttributeSet> parameters;
    for (unsigned i = 0; i < to.arg_size(); ++i) parameters.push_back(call->getAttributes().getParamAttrs(i));
    llvm::IRBuilder<> b(call);
    llvm::CallBase* shortened;
    if (auto* invoke = llvm::dyn_cast<llvm::InvokeInst>(call))
      shortened = b.CreateInvoke(&to, invoke->getNormalDest(), invoke->getUnwindDest(), arguments);
    else
      shortened = b.CreateCall(&to, arguments);
    shortened->setAttributes(llvm::AttributeList::get(to.getContext(), call->getAttributes().getFnAttrs(),
                                                      call->getAttributes().getRetAttrs(), parameters));
    shortened->setCallingConv(to.getCallingConv());
    call->replaceAllUsesWith(shortened);
    call->eraseFromParent();
  }
}

/// The loop that is expected: its generic form, to be specialised.
llvm::Error putLoop(const Plan& plan, Extraction& extraction) {
  const auto& places = plan.request.record.places;
  llvm::Function* placeholder = extraction.module().getFunction(nameOf(places.placeholder));
  if (placeholder == nullptr) return llvm::Error::success();
  if (!extraction.has(plan.loop))
    return llvm::createStringError(llvm::inconvertibleErrorCode(), "the generic loop has no bitcode");
  auto body = extraction.import(plan.loop, Extraction::Inline::kAll);
  if (!body) return body.takeError();
  inlineWhole(**body, kInlineLate);
  (*body)->removeFnAttr(kInlineLate);
  (*body)->addFnAttr(llvm::Attribute::AlwaysInline);
  if (places.independent) markIndependent(**body);
  redirectShortened(*placeholder, **body);
  return llvm::Error::success();
}

}  // namespace

bool isGuardMiss(const llvm::CallBase& call) { return call.hasFnAttr(kGuardMiss); }

llvm::Error putExpectedOperands(const Plan& plan, Extraction& extraction) {
  if (!plan.expectsOperands()) return llvm::Error::success();
  llvm::Module& module = extraction.module();
  const auto& record = plan.request.record;
  llvm::Function* entry = module.getFunction(nameOf(record.places.entry));
  if (entry == nullptr) return llvm::Error::success();
  auto expecting = extraction.import(nameOf(record.places.expecting));
  if (!expecting) return expecting.takeError();
  (*expecting)->addFnAttr(llvm::Attribute::AlwaysInline);
  for (llvm::Instruction& i : llvm::instructions(**expecting))
    if (auto* call = llvm::dyn_cast<llvm::CallBase>(&i); call != nullptr && call->getCalledFunction() != nullptr)
      if (call->getCalledFunction()->getName() == nameOf(record.places.miss))
        call->addFnAttr(llvm::Attribute::get(extraction.context(), kGuardMiss));
  redirectCalls(*entry, **expecting);
  if (plan.request.tier == Tier::kSecond)
    if (auto e = putLoop(plan, extraction)) return e;
  llvm::GlobalVariable* expected = module.getNamedGlobal(nameOf(record.places.expected));
  if (expected == nullptr) return llvm::Error::success();
  const auto* bytes = reinterpret_cast<const std::byte*>(&record);
  Image image(extraction.context(), llvm::ArrayRef(bytes, offsetof(shunt::detail::LoopRecord, places)));
  llvm::Constant* value = image.finish();
  auto* constant = new llvm::GlobalVariable(module, value->getType(), true, llvm::GlobalValue::PrivateLinkage, value,
                                            "shunt.expected");
  constant->setAlignment(llvm::Align(8));
  expected->replaceAllUsesWith(constant);
  return llvm::Error::success();
}

}  // namespace shunt::jit
