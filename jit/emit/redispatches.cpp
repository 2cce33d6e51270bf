#include "jit/emit/redispatches.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>

namespace shunt::jit {
namespace {

constexpr llvm::StringLiteral kNotePrefix = "shunt.redispatch.";
constexpr llvm::StringLiteral kUnreliedPrefix = "shunt.unrelied.";
constexpr llvm::StringLiteral kNoted = "shunt-redispatch-noted";

llvm::Function* noteOf(uint64_t chain, llvm::Module& module) {
  const std::string name = (kNotePrefix + llvm::Twine(chain)).str();
  if (llvm::Function* known = module.getFunction(name)) return known;
  llvm::LLVMContext& context = module.getContext();
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), {llvm::Type::getInt64Ty(context)}, false);
  auto* note = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, module);
  // Of no memory that the thunk knows, so that it costs the passes nothing.
  note->setMemoryEffects(llvm::MemoryEffects::inaccessibleMemOnly());
  note->setDoesNotThrow();
  for (const auto attribute :
       {llvm::Attribute::WillReturn, llvm::Attribute::NoFree, llvm::Attribute::NoSync, llvm::Attribute::NoCallback})
    note->addFnAttr(attribute);
  return note;
}

/// The constants that a value is one of; false if it may be something else.
bool constantsOf(llvm::Value& value, llvm::SmallPtrSetImpl<llvm::Value*>& seen, std::vector<uint64_t>& out) {
  if (!seen.insert(&value).second) return true;
  if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(&value)) return out.push_back(constant->getZExtValue()), true;
  if (auto* select = llvm::dyn_cast<llvm::SelectInst>(&value))
    return constantsOf(*select->getTrueValue(), seen, out) && constantsOf(*select->getFalseValue(), seen, out);
  auto* phi = llvm::dyn_cast<llvm::PHINode>(&value);
  return phi != nullptr &&
         llvm::all_of(phi->incoming_values(), [&](llvm::Use& use) { return constantsOf(*use, seen, out); });
}

}  // namespace

llvm::Error noteRedispatch(uint64_t chain, llvm::Function& planned) {
  if (planned.hasFnAttribute(kNoted)) return llvm::Error::success();
  // R f(DispatchKeySet, A...), after the pointer to the result where there is one.
  const unsigned at = planned.hasStructRetAttr() ? 1 : 0;
  if (planned.arg_size() <= at || !planned.getArg(at)->getType()->isIntegerTy(64))
    return llvm::createStringError("%s takes no keyset", planned.getName().str().c_str());
  llvm::IRBuilder<> b(&*planned.getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
  b.CreateCall(noteOf(chain, *planned.getParent()), {planned.getArg(at)});
  planned.addFnAttr(kNoted);
  return llvm::Error::success();
}

std::vector<Redispatch> takeRedispatches(llvm::Module& module) {
  std::vector<Redispatch> out;
  for (llvm::Function& f : llvm::make_early_inc_range(module)) {
    llvm::StringRef name = f.getName();
    uint64_t chain = 0;
    if (!name.consume_front(kNotePrefix) || name.getAsInteger(10, chain)) continue;
    for (llvm::User* user : llvm::make_early_inc_range(f.users())) {
      auto* call = llvm::cast<llvm::CallInst>(user);
      llvm::SmallPtrSet<llvm::Value*, 8> seen;
      std::vector<uint64_t> keysets;
      if (!constantsOf(*call->getArgOperand(0), seen, keysets)) out.push_back({chain, {}, /*known=*/false});
      for (uint64_t keys : keysets) out.push_back({chain, DispatchKeySet::fromRaw(keys)});
      call->eraseFromParent();
    }
    f.eraseFromParent();
  }
  return out;
}

llvm::Constant* unreliedSlot(const Chain& chain, size_t slot, llvm::Module& module) {
  const std::string name = kUnreliedPrefix.str() + chain.op.name + " " + toString(keyOfSlot(slot));
  if (llvm::GlobalVariable* known = module.getNamedGlobal(name)) return known;
  return new llvm::GlobalVariable(module, llvm::Type::getInt8Ty(module.getContext()), /*isConstant=*/false,
                                  llvm::GlobalValue::ExternalWeakLinkage, nullptr, name);
}

std::string usedWithoutEdge(llvm::Module& module) {
  for (llvm::GlobalVariable& variable : module.globals()) {
    llvm::StringRef name = variable.getName();
    if (!name.consume_front(kUnreliedPrefix)) continue;
    variable.removeDeadConstantUsers();
    if (!variable.use_empty())
      return "the code depends on the table's entry " + name.str() +
             ", on which the thunk has no edge; please report this as a bug";
  }
  return "";
}

}  // namespace shunt::jit
