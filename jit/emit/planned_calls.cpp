#include "jit/emit/planned_calls.h"

#include "jit/emit/image.h"

#include <shunt/core/missed_call.h>
#include <shunt/core/op_state.h>

#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/Local.h>

namespace shunt::jit {
namespace {

static_assert(sizeof(TableEntry) % sizeof(void*) == 0);
constexpr llvm::StringLiteral kSnapshotPrefix = "shunt.snapshot.";
// Roles of entry points: Note [Annotated functions] (shunt/core/annotate.h).
constexpr const char *kCall = "call", *kCallPlanned = "call_planned", *kRedispatch = "redispatch",
                     *kRedispatchPlanned = "redispatch_planned";

/// The name of a function of the library or of an operator.
template <class T>
llvm::StringRef symbolOf(T* address) {
  const auto name = HostSymbols::instance().name(reinterpret_cast<uint64_t>(address));
  return name ? llvm::StringRef(*name) : llvm::StringRef();
}

/// The entry point in this role; "" where the operator is not of the dictionary.
llvm::StringRef entryPoint(const Chain& chain, const char* role) {
  if (symbolOf(chain.op.op).empty()) return "";
  return HostSymbols::instance().annotated(std::string(role) + ":" + chain.op.name);
}

/// Calls of the operator's entry point `from` become calls of `to`, which comes with its body and is made ready by
/// `prepare`. Whether there were any.
llvm::Expected<bool> putEntryPoint(
    const Chain& chain, Extraction& extraction, const char* from, const char* to, const Functions& others = {},
    llvm::function_ref<llvm::Error(llvm::Function&)> prepare = [](llvm::Function&) { return llvm::Error::success(); }) {
  const llvm::StringRef name = entryPoint(chain, from);
  llvm::Function* f = name.empty() ? nullptr : extraction.module().getFunction(name);
  if (f == nullptr || !f->isDeclaration() || f->use_empty()) return false;
  auto planned = extraction.import(entryPoint(chain, to));
  if (!planned) return planned.takeError();
  if (auto e = prepare(**planned)) return std::move(e);
  (*planned)->addFnAttr(llvm::Attribute::AlwaysInline);
  redirectCalls(*f, **planned, others);
  return true;
}

/// `is_inner`: its top kernel is reached through the table too.
llvm::Constant* makeSnapshot(const Chain& chain, const ChainUse& use, const PlanSymbols& symbols,
                             Extraction& extraction, bool is_inner) {
  llvm::Module& module = extraction.module();
  llvm::LLVMContext& context = extraction.context();
  Image image(context, chain.op.image);
  // An OpState begins with its operator. Where that has a symbol, sources name it so, and two names would be two
  // objects.
  const llvm::StringRef operator_name = symbolOf(chain.op.op);
  llvm::Constant* named = !operator_name.empty() ? extraction.hostAddress(operator_name) : nullptr;
  image.put(0, named != nullptr ? named : symbols.constant(module, chain.op.op));
  for (size_t slot = 0; slot < chain.op.table.size(); ++slot) {
    const TableEntry& e = chain.op.table[slot];
    const size_t at = chain.op.table_offset + slot * sizeof(TableEntry);
    if (!use.slots.test(slot)) {
      llvm::Constant* unrelied = unreliedSlot(chain, slot, module);
      for (size_t field = 0; field < sizeof(TableEntry); field += sizeof(void*)) image.put(at + field, unrelied);
      continue;
    }
    llvm::Constant* code = symbols.constant(module, e.unboxed);
    // A top one that is not reached from below keeps its address to itself: taken, its arguments would stay variable.
    for (const Step& step : llvm::ArrayRef(chain.steps).drop_front(is_inner ? 0 : 1))
      if (step.verdict == StepVerdict::kInline && step.entry.unboxed == e.unboxed)
        code = module.getFunction(step.symbol);
    image.put(at + offsetof(TableEntry, unboxed), code);
    image.put(at + offsetof(TableEntry, boxed), symbols.constant(module, reinterpret_cast<const void*>(e.boxed)));
    image.put(at + offsetof(TableEntry, functor), symbols.constant(module, e.functor));
  }
  llvm::Constant* value = image.finish();
  auto* global = new llvm::GlobalVariable(module, value->getType(), /*isConstant=*/true,
                                          llvm::GlobalValue::PrivateLinkage, value, kSnapshotPrefix + chain.op.name);
  global->setAlignment(llvm::Align(8));
  return global;
}

/// What a call of the library's `function` is known to return: `known(call)`, null for a call that is none of ours.
template <class Function, class Known>
void replaceCalls(llvm::Module& module, Function* function, Known&& known) {
  llvm::Function* f = module.getFunction(symbolOf(function));
  if (f == nullptr) return;
  for (llvm::User* user : llvm::make_early_inc_range(f->users())) {
    auto* call = llvm::cast<llvm::CallBase>(user);
    llvm::Constant* value = known(*call);
    if (value == nullptr) continue;
    call->replaceAllUsesWith(value);
    if (auto* invoke = llvm::dyn_cast<llvm::InvokeInst>(call))
      llvm::changeToCall(invoke)->eraseFromParent();
    else
      call->eraseFromParent();
  }
}

bool isOf(const llvm::CallBase& call, llvm::StringRef operator_name) {
  const auto* symbol = llvm::dyn_cast<llvm::GlobalVariable>(call.getArgOperand(0));
  return symbol != nullptr && symbol->getName() == operator_name;
}

/// Behind the comparison with the planned keys, the compared ones are a constant: the library's compile took one for
/// the other.
void putKnownKeys(llvm::CallBase& planned, llvm::Constant& keys) {
  llvm::DominatorTree dominators(*planned.getFunction());
  for (llvm::User* user : planned.users()) {
    auto* compare = llvm::dyn_cast<llvm::ICmpInst>(user);
    if (compare == nullptr || !compare->isEquality()) continue;
    llvm::Value* compared = compare->getOperand(compare->getOperand(0) == &planned ? 1 : 0);
    for (llvm::User* condition : compare->users()) {
      auto* branch = llvm::dyn_cast<llvm::BranchInst>(condition);
      if (branch == nullptr) continue;
      const bool equal_first = compare->getPredicate() == llvm::ICmpInst::ICMP_EQ;
      const llvm::BasicBlockEdge edge(branch->getParent(), branch->getSuccessor(equal_first ? 0 : 1));
      llvm::replaceDominatedUsesWith(compared, &keys, dominators, edge);
    }
  }
}

void putChain(const Chain& chain, const ChainUse& use, const PlanSymbols& symbols, Extraction& extraction,
              bool is_inner) {
  const llvm::StringRef name = symbolOf(chain.op.op);
  if (name.empty()) return;
  llvm::Module& module = extraction.module();
  llvm::Constant* snapshot = nullptr;
  replaceCalls(module, &shunt::detail::plannedState, [&](const llvm::CallBase& call) -> llvm::Constant* {
    if (!isOf(call, name)) return nullptr;
    if (snapshot == nullptr) snapshot = makeSnapshot(chain, use, symbols, extraction, is_inner);
    return snapshot;
  });
  replaceCalls(module, &shunt::detail::plannedKeys, [&](llvm::CallBase& call) -> llvm::Constant* {
    if (!isOf(call, name)) return nullptr;
    auto* keys = llvm::ConstantInt::get(call.getType(), chain.keys.raw());
    putKnownKeys(call, *keys);
    return keys;
  });
}

}  // namespace

void redirectCalls(llvm::Function& from, llvm::Function& to, const Functions& others) {
  for (llvm::Use& use : llvm::make_early_inc_range(from.uses())) {
    auto* call = llvm::dyn_cast<llvm::CallBase>(use.getUser());
    if (call == nullptr || !call->isCallee(&use) || call->getFunction() == &to || others.contains(call->getFunction()))
      continue;
    call->setCalledFunction(&to);
  }
}

std::vector<std::string> entryPointRoles() { return {kCall, kCallPlanned, kRedispatch, kRedispatchPlanned}; }

llvm::Error putPlannedRedispatch(const Plan& plan, uint64_t place, Extraction& extraction, const Functions& others) {
  const Chain& chain = *plan.chain(place);
  if (chain.open) return llvm::Error::success();
  const auto note = [place](llvm::Function& planned) { return noteRedispatch(place, planned); };
  return putEntryPoint(chain, extraction, kRedispatch, kRedispatchPlanned, others, note).takeError();
}

llvm::Expected<bool> putPlannedCall(const Chain& chain, Extraction& extraction) {
  return putEntryPoint(chain, extraction, kCall, kCallPlanned);
}

void sharePlannedCalls(const Plan& plan, const Reliance& reliance, llvm::Module& module) {
  for (size_t i = 0; i < plan.inner.size(); ++i) {
    if (!reliance[i + 1].used) continue;
    llvm::Function* f = module.getFunction(entryPoint(plan.inner[i], kCallPlanned));
    if (f == nullptr || f->isDeclaration() || f->hasOneUse()) continue;
    f->removeFnAttr(llvm::Attribute::AlwaysInline);
    f->addFnAttr(llvm::Attribute::NoInline);
    f->setLinkage(llvm::GlobalValue::ExternalLinkage);  // as what flatten() works on
  }
}

void putPlans(const Plan& plan, const Reliance& reliance, Extraction& extraction) {
  const PlanSymbols symbols(plan);
  for (size_t place = 0; place < reliance.size(); ++place)
    if (reliance[place].used)
      putChain(*plan.chain(place), reliance[place], symbols, extraction, /*is_inner=*/place != 0);
  llvm::Module& module = extraction.module();
  replaceCalls(module, &shunt::detail::plannedValidity, [&](const llvm::CallBase&) {
    return module.getOrInsertGlobal(kValidityName, llvm::Type::getInt8Ty(module.getContext()));
  });
}

void putMissCount(const Plan& plan, llvm::Module& module) {
  llvm::Constant* misses = PlanSymbols(plan).constant(module, plan.request.misses);
  replaceCalls(module, &shunt::detail::plannedMisses, [&](const llvm::CallBase&) { return misses; });
}

std::string unfolded(llvm::Module& module) {
  for (const llvm::GlobalVariable& variable : module.globals())
    if (variable.getName().starts_with(kSnapshotPrefix) && !variable.use_empty()) return kKeysUnknown;
  return usedWithoutEdge(module);
}

}  // namespace shunt::jit
