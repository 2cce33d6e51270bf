#include "jit/cache/process_addresses.h"

#include "jit/host/host_symbols.h"
#include "jit/host/literals.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InstIterator.h>

namespace shunt::jit {
namespace {

// No object lies below; small numbers stand for themselves, as in allocators' results for nothing.
constexpr uint64_t kFirstAddress = 65536;

class Search {
 public:
  /// Null: the module was made without a plan.
  explicit Search(const PlanSymbols* symbols) : symbols_(symbols) {}

  bool found(const llvm::Constant& constant) {
    if (const auto* number = llvm::dyn_cast<llvm::ConstantInt>(&constant))
      return number->getBitWidth() == 64 && isThePlans(number->getZExtValue());
    if (llvm::isa<llvm::GlobalValue>(constant) || !seen_.insert(&constant).second) return false;
    if (const auto* data = llvm::dyn_cast<llvm::ConstantDataSequential>(&constant)) return foundIn(*data);
    if (const auto* cast = llvm::dyn_cast<llvm::ConstantExpr>(&constant);
        cast != nullptr && cast->getOpcode() == llvm::Instruction::IntToPtr) {
      const auto* number = llvm::dyn_cast<llvm::ConstantInt>(cast->getOperand(0));
      if (number != nullptr && number->getZExtValue() >= kFirstAddress) return true;
    }
    for (const llvm::Use& part : constant.operands())
      if (found(*llvm::cast<llvm::Constant>(part.get()))) return true;
    return false;
  }

 private:
  bool foundIn(const llvm::ConstantDataSequential& data) {
    if (symbols_ == nullptr || !data.getElementType()->isIntegerTy(64)) return false;
    for (unsigned i = 0; i < data.getNumElements(); ++i)
      if (isThePlans(data.getElementAsInteger(i))) return true;
    return false;
  }

  bool isThePlans(uint64_t number) const { return symbols_ != nullptr && symbols_->has(number); }

  const PlanSymbols* symbols_;
  llvm::SmallPtrSet<const llvm::Constant*, 32> seen_;
};

bool holdsAddress(const llvm::Module& module, const PlanSymbols* symbols) {
  Search search(symbols);
  for (const llvm::GlobalValue& value : module.global_values())
    if (value.isDeclaration() && !value.use_empty() && !holdsEverywhere(value.getName())) return true;
  for (const llvm::GlobalVariable& variable : module.globals())
    if (variable.hasInitializer() && search.found(*variable.getInitializer())) return true;
  for (const llvm::Function& function : module)
    for (const llvm::Instruction& instruction : llvm::instructions(function))
      for (const llvm::Use& operand : instruction.operands())
        if (const auto* constant = llvm::dyn_cast<llvm::Constant>(operand.get());
            constant != nullptr && search.found(*constant))
          return true;
  return false;
}

}  // namespace

// Sources' names have no colon. Of those with a prefix, some are bound anew in every process.
bool holdsEverywhere(llvm::StringRef name) {
  for (llvm::StringRef prefix :
       {llvm::StringRef(PlanSymbols::kPrefix), llvm::StringRef(literals::kPrefix), llvm::StringRef(kHostPrefix)})
    if (name.starts_with(prefix)) return true;
  return !name.contains(':');
}

bool holdsProcessAddress(const llvm::Module& module, const PlanSymbols& symbols) {
  return holdsAddress(module, &symbols);
}
bool holdsProcessAddress(const llvm::Module& module) { return holdsAddress(module, nullptr); }

}  // namespace shunt::jit
