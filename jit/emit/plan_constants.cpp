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
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/Local.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace shunt::jit {
namespace {

using shunt::detail::LoopRecord;

/// Calls that lead from an expecting function to the interpreter's.
constexpr const char* kGuardMiss = "shunt-guard-miss";
static_assert(std::size(kInlineGuards) + 1 == kMaxOperandKinds);

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

/// A call of `to` with these arguments, of which the first ones are the call's own, in its place.
void replaceCall(llvm::CallBase& call, llvm::Function& to, llvm::ArrayRef<llvm::Value*> arguments) {
  llvm::SmallVector<llvm::AttributeSet> parameters;
  for (unsigned i = 0; i < std::min<size_t>(arguments.size(), call.arg_size()); ++i)
    parameters.push_back(call.getAttributes().getParamAttrs(i));
  llvm::IRBuilder<> b(&call);
  llvm::CallBase* replacing;
  if (auto* invoke = llvm::dyn_cast<llvm::InvokeInst>(&call))
    replacing = b.CreateInvoke(&to, invoke->getNormalDest(), invoke->getUnwindDest(), arguments);
  else
    replacing = b.CreateCall(&to, arguments);
  replacing->setAttributes(llvm::AttributeList::get(to.getContext(), call.getAttributes().getFnAttrs(),
                                                    call.getAttributes().getRetAttrs(), parameters));
  replacing->setCallingConv(to.getCallingConv());
  call.replaceAllUsesWith(replacing);
  call.eraseFromParent();
}

/// Calls of `from` in `where` become calls of `to`, which takes the first of its arguments.
void redirectShortened(llvm::Function& from, llvm::Function& to, const llvm::Function& where) {
  for (llvm::User* user : llvm::make_early_inc_range(from.users())) {
    auto* call = llvm::dyn_cast<llvm::CallBase>(user);
    if (call == nullptr || call->getCalledFunction() != &from || call->getFunction() != &where) continue;
    const llvm::SmallVector<llvm::Value*> arguments(call->arg_begin(), call->arg_begin() + to.arg_size());
    replaceCall(*call, to, arguments);
  }
}

/// Where no guard expects the recorded operands, the interpreter's entry is called as behind one: operands that come
/// later may be of a kind that has a loop.
void countUnexpected(const Plan& plan, Extraction& extraction) {
  const LoopRecord& record = plan.request.kinds[0];
  llvm::Module& module = extraction.module();
  llvm::Function* entry = module.getFunction(nameOf(record.places.entry));
  if (entry == nullptr || plan.request.misses == nullptr) return;
  llvm::SmallVector<llvm::Type*> parameters(entry->getFunctionType()->params());
  parameters.push_back(llvm::PointerType::getUnqual(extraction.context()));
  auto* type = llvm::FunctionType::get(entry->getReturnType(), parameters, /*isVarArg=*/false);
  auto* miss = llvm::cast<llvm::Function>(module.getOrInsertFunction(nameOf(record.places.miss), type).getCallee());
  miss->setAttributes(entry->getAttributes());
  llvm::Constant* misses = PlanSymbols(plan).constant(module, plan.request.misses);
  for (llvm::User* user : llvm::make_early_inc_range(entry->users())) {
    auto* call = llvm::dyn_cast<llvm::CallBase>(user);
    if (call == nullptr || call->getCalledFunction() != entry) continue;
    llvm::SmallVector<llvm::Value*> arguments(call->args());
    arguments.push_back(misses);
    replaceCall(*call, *miss, arguments);
  }
}

/// A kind of operands in the module: the function that a thunk calls in the place of the interpreter's entry, and the
/// one that compares, runs the loop or misses, which that function is itself or calls. Both have the kind's constants.
struct Guard {
  const LoopRecord* record;
  bool ready;  // the ahead-of-time loop is called
  llvm::Function* expecting;
  llvm::Function* comparing;

  llvm::Function* miss() const { return expecting->getParent()->getFunction(nameOf(record->places.miss)); }
};

bool calls(const llvm::Function& f, const llvm::Function* callee) {
  return llvm::any_of(llvm::instructions(f), [&](const llvm::Instruction& i) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&i);
    return call != nullptr && callee != nullptr && call->getCalledFunction() == callee;
  });
}

/// Of what `guard.expecting` is or calls; null: nothing misses.
llvm::Function* findComparing(const Guard& guard) {
  if (calls(*guard.expecting, guard.miss())) return guard.expecting;
  for (llvm::Instruction& i : llvm::instructions(*guard.expecting))
    if (auto* call = llvm::dyn_cast<llvm::CallBase>(&i); call != nullptr && call->getCalledFunction() != nullptr)
      if (calls(*call->getCalledFunction(), guard.miss())) return call->getCalledFunction();
  return nullptr;
}

/// The record as a constant of the module.
llvm::Constant* recordConstant(LoopRecord record, bool ready, Extraction& extraction) {
  record.ready = ready;
  const auto* bytes = reinterpret_cast<const std::byte*>(&record);
  Image image(extraction.context(), llvm::ArrayRef(bytes, offsetof(LoopRecord, places)));
  llvm::Constant* value = image.finish();
  auto* constant = new llvm::GlobalVariable(extraction.module(), value->getType(), true,
                                            llvm::GlobalValue::PrivateLinkage, value, "shunt.expected");
  constant->setAlignment(llvm::Align(8));
  return constant;
}

/// A copy with what `map` puts in the place of globals, and without what folds away then.
llvm::Function* foldedCopy(llvm::Function& f, llvm::ValueToValueMapTy& map) {
  auto* made =
      llvm::Function::Create(f.getFunctionType(), f.getLinkage(), f.getAddressSpace(), f.getName(), f.getParent());
  made->copyAttributesFrom(&f);
  for (llvm::Argument& a : f.args()) map[&a] = made->getArg(a.getArgNo());
  llvm::SmallVector<llvm::ReturnInst*> returns;
  llvm::CloneAndPruneFunctionInto(made, &f, map, /*ModuleLevelChanges=*/false, returns);
  return made;
}

/// Copies of the guard's functions that read the kind's record: of a function for all kinds most is folded away at
/// once, which the passes then needn't look at. Where the kind is `alone`, the functions themselves read it, and
/// inlining folds.
void putRecord(Guard& guard, bool alone, Extraction& extraction) {
  llvm::GlobalVariable* expected = extraction.module().getNamedGlobal(nameOf(guard.record->places.expected));
  if (alone) {
    if (expected != nullptr) expected->replaceAllUsesWith(recordConstant(*guard.record, guard.ready, extraction));
    return;
  }
  llvm::ValueToValueMapTy of_kind;
  if (expected != nullptr) of_kind[expected] = recordConstant(*guard.record, guard.ready, extraction);
  const bool apart = guard.comparing != guard.expecting;
  llvm::Function* comparing = foldedCopy(*guard.comparing, of_kind);
  if (apart) {
    llvm::ValueToValueMapTy with_comparing;
    with_comparing[guard.comparing] = comparing;
    guard.expecting = foldedCopy(*guard.expecting, with_comparing);
  } else {
    guard.expecting = comparing;
  }
  guard.comparing = comparing;
}

/// Declarations stay, which the extraction may know.
void dropBodies(llvm::ArrayRef<Guard> guards) {
  for (const Guard& g : guards)
    for (llvm::Function* f : {g.expecting, g.comparing})
      if (!f->isDeclaration() && f->use_empty()) f->deleteBody();
}

/// The loop that is expected: a function of the library, called by the address that the record has.
void callLoop(const Plan& plan, const Guard& guard, llvm::Module& module) {
  const auto& places = guard.record->places;
  llvm::Function* placeholder = module.getFunction(nameOf(places.ready_placeholder));
  if (placeholder == nullptr) return;
  llvm::Constant* loop = PlanSymbols(plan).constant(module, places.ready);
  for (llvm::User* user : llvm::make_early_inc_range(placeholder->users()))
    if (auto* call = llvm::dyn_cast<llvm::CallBase>(user);
        call != nullptr && call->getCalledFunction() == placeholder && call->getFunction() == guard.comparing)
      call->setCalledOperand(loop);
}

/// The same: its generic form, to be specialised.
llvm::Error putLoop(const Guard& guard, const std::string& loop, bool alone, Extraction& extraction) {
  const auto& places = guard.record->places;
  llvm::Function* placeholder = extraction.module().getFunction(nameOf(places.placeholder));
  if (placeholder == nullptr) return llvm::Error::success();
  if (!extraction.has(loop))
    return llvm::createStringError(llvm::inconvertibleErrorCode(), "the generic loop has no bitcode");
  auto body = extraction.import(loop, Extraction::Inline::kAll);
  if (!body) return body.takeError();
  const bool known = (*body)->hasFnAttribute(kInlineLoop);  // another kind has the same
  if (!known) {
    inlineWhole(**body, kInlineLate);
    (*body)->removeFnAttr(kInlineLate);
    // Of several kinds most are folded away where a kernel calls the entry with one functor or another.
    if (alone)
      (*body)->addFnAttr(llvm::Attribute::AlwaysInline);
    else
      (*body)->addFnAttr(kInlineLoop);
    markIndependent(**body);
  }
  redirectShortened(*placeholder, **body, *guard.comparing);
  return llvm::Error::success();
}

llvm::Expected<Guard> importGuard(const Plan& plan, size_t kind, Extraction& extraction) {
  const LoopRecord& record = plan.request.kinds[kind];
  auto expecting = extraction.import(nameOf(record.places.expecting));
  if (!expecting) return expecting.takeError();
  Guard guard{&record, plan.callsLoop(kind, plan.request.tier), *expecting, nullptr};
  guard.comparing = findComparing(guard);
  if (guard.comparing == nullptr)
    return llvm::createStringError("%s has no guard", (*expecting)->getName().str().c_str());
  return guard;
}

/// Operands that the one guard turns away are for the next one; those that the last one does are misses.
void chain(llvm::ArrayRef<Guard> guards, llvm::LLVMContext& context) {
  for (size_t i = 0; i < guards.size(); ++i) {
    const Guard& guard = guards[i];
    if (i + 1 < guards.size()) {
      // Behind the same miss a plan is there already.
      const Guard& next = guards[i + 1];
      redirectShortened(*guard.miss(), guard.miss() == next.miss() ? *next.comparing : *next.expecting,
                        *guard.comparing);
      continue;
    }
    for (llvm::Instruction& in : llvm::instructions(*guard.comparing))
      if (auto* call = llvm::dyn_cast<llvm::CallBase>(&in);
          call != nullptr && call->getCalledFunction() == guard.miss())
        call->addFnAttr(llvm::Attribute::get(context, kGuardMiss));
  }
}

/// The kinds for which the interpreter's `entry` is asked, dense ones first: these need no plan.
llvm::Expected<std::vector<Guard>> guardsOf(const Plan& plan, const void* entry, Extraction& extraction) {
  std::vector<Guard> guards, with_plan;
  for (size_t kind = 0; kind < plan.loops.size(); ++kind) {
    const LoopRecord& record = plan.request.kinds[kind];
    if (!plan.expects(kind) || record.places.entry != entry) continue;
    auto guard = importGuard(plan, kind, extraction);
    if (!guard) return guard.takeError();
    (guard->comparing == guard->expecting ? guards : with_plan).push_back(*guard);
  }
  guards.insert(guards.end(), with_plan.begin(), with_plan.end());
  return guards;
}

llvm::Error putGuards(const Plan& plan, const void* entry, bool alone, Extraction& extraction) {
  llvm::Function* from = extraction.module().getFunction(nameOf(entry));
  if (from == nullptr) return llvm::Error::success();
  auto guards = guardsOf(plan, entry, extraction);
  if (!guards) return guards.takeError();
  const std::vector<Guard> general = *guards;
  for (size_t i = 0; i < guards->size(); ++i) {
    Guard& guard = (*guards)[i];
    putRecord(guard, alone, extraction);
    for (llvm::Function* f : {guard.expecting, guard.comparing}) {
      f->removeFnAttr(llvm::Attribute::NoInline);
      if (i == 0)
        f->addFnAttr(llvm::Attribute::AlwaysInline);
      else
        f->addFnAttr(kInlineGuards[i - 1]);
    }
    const auto kind = static_cast<size_t>(guard.record - plan.request.kinds.data());
    if (guard.ready)
      callLoop(plan, guard, extraction.module());
    else if (plan.request.tier == Tier::kSecond)
      if (auto e = putLoop(guard, plan.loops[kind], alone, extraction)) return e;
  }
  chain(*guards, extraction.context());
  redirectCalls(*from, *guards->front().expecting);
  if (!alone) dropBodies(general);
  return llvm::Error::success();
}

}  // namespace

bool isGuardMiss(const llvm::CallBase& call) { return call.hasFnAttr(kGuardMiss); }

llvm::Error putExpectedOperands(const Plan& plan, Extraction& extraction) {
  std::vector<const void*> entries;
  int kinds = 0;
  for (size_t kind = 0; kind < plan.loops.size(); ++kind) {
    if (!plan.expects(kind)) continue;
    const void* entry = plan.request.kinds[kind].places.entry;
    if (std::ranges::find(entries, entry) == entries.end()) entries.push_back(entry);
    ++kinds;
  }
  if (plan.countsUnexpected()) countUnexpected(plan, extraction);
  for (const void* entry : entries)
    if (auto e = putGuards(plan, entry, kinds == 1, extraction)) return e;
  return llvm::Error::success();
}

}  // namespace shunt::jit
