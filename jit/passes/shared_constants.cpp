#include "jit/passes/shared_constants.h"

#include "jit/host/literals.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Operator.h>

#include <cstring>

namespace shunt::jit {
namespace {

bool isLocalConstant(const llvm::GlobalVariable& variable) {
  return variable.isConstant() && variable.hasLocalLinkage() && variable.hasInitializer();
}

// Whether a user of an address may keep it; `more`: its own users decide.
bool mayKeep(const llvm::Use& use, bool& more) {
  const llvm::User* user = use.getUser();
  more = llvm::isa<llvm::GEPOperator>(user) || llvm::isa<llvm::SelectInst>(user) || llvm::isa<llvm::PHINode>(user) ||
         llvm::isa<llvm::BitCastOperator>(user);
  if (more || llvm::isa<llvm::LoadInst>(user) || llvm::isa<llvm::ICmpInst>(user)) return false;
  const auto* call = llvm::dyn_cast<llvm::CallBase>(user);
  return call == nullptr || !call->isArgOperand(&use) || !call->doesNotCapture(call->getArgOperandNo(&use));
}

bool addressMayBeKept(const llvm::GlobalVariable& variable) {
  llvm::SmallPtrSet<const llvm::Value*, 8> seen = {&variable};
  llvm::SmallVector<const llvm::Value*, 8> queue = {&variable};
  while (!queue.empty()) {
    for (const llvm::Use& use : queue.pop_back_val()->uses()) {
      bool more = false;
      if (mayKeep(use, more)) return true;
      if (more && seen.insert(use.getUser()).second) queue.push_back(use.getUser());
    }
  }
  return false;
}

// The content of initialisers, with names for what they point to.
class Content {
 public:
  explicit Content(const llvm::DataLayout& layout) : layout_(layout) {}

  /// The symbol of a variable's interned copy; "" where its content can't be told.
  std::string intern(const llvm::GlobalVariable& variable) {
    if (depth_ == kMaxDepth) return "";  // constants that point to each other
    ++depth_;
    Literal literal;
    literal.bytes.resize(layout_.getTypeAllocSize(variable.getInitializer()->getType()));
    literal.alignment = std::max<uint64_t>(variable.getAlign().valueOrOne().value(), 16);
    if (!variable.hasGlobalUnnamedAddr()) literal.identity = variable.getName();
    const bool known = write(*variable.getInitializer(), 0, literal);
    --depth_;
    return known ? literals::intern(literal) : "";
  }

 private:
  static constexpr int kMaxDepth = 8;

  bool write(const llvm::Constant& constant, uint64_t at, Literal& out) {
    if (constant.isNullValue() || llvm::isa<llvm::UndefValue>(constant)) return true;
    if (const auto* integer = llvm::dyn_cast<llvm::ConstantInt>(&constant))
      return writeBits(integer->getValue(), at, out);
    if (const auto* number = llvm::dyn_cast<llvm::ConstantFP>(&constant)) {
      return writeBits(number->getValueAPF().bitcastToAPInt(), at, out);
    }
    if (const auto* data = llvm::dyn_cast<llvm::ConstantDataSequential>(&constant)) {
      const llvm::StringRef raw = data->getRawDataValues();
      std::memcpy(out.bytes.data() + at, raw.data(), raw.size());
      return true;
    }
    if (llvm::isa<llvm::ConstantAggregate>(constant)) return writeParts(constant, at, out);
    return constant.getType()->isPointerTy() && writePointer(constant, at, out);
  }

  bool writeBits(const llvm::APInt& bits, uint64_t at, Literal& out) {
    // x86-64 is little-endian, like APInt's words
    std::memcpy(out.bytes.data() + at, bits.getRawData(), (bits.getBitWidth() + 7) / 8);
    return true;
  }

  bool writeParts(const llvm::Constant& constant, uint64_t at, Literal& out) {
    const auto* structure = llvm::dyn_cast<llvm::StructType>(constant.getType());
    for (unsigned i = 0; i < constant.getNumOperands(); ++i) {
      const auto& part = *llvm::cast<llvm::Constant>(constant.getOperand(i));
      const uint64_t offset =
          structure ? layout_.getStructLayout(const_cast<llvm::StructType*>(structure))->getElementOffset(i)
                    : i * layout_.getTypeAllocSize(part.getType());
      if (!write(part, at + offset, out)) return false;
    }
    return true;
  }

  bool writePointer(const llvm::Constant& constant, uint64_t at, Literal& out) {
    llvm::APInt offset(64, 0);
    const llvm::Value* base = constant.stripAndAccumulateConstantOffsets(layout_, offset, /*AllowNonInbounds=*/true);
    const auto* global = llvm::dyn_cast<llvm::GlobalValue>(base);
    if (global == nullptr) return false;
    const auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(global);
    std::string symbol;
    if (variable != nullptr && isLocalConstant(*variable))
      symbol = intern(*variable);
    else if (!global->hasLocalLinkage())
      symbol = global->getName();  // the host's, or one that was moved a moment ago
    if (symbol.empty()) return false;
    out.pointers.push_back({static_cast<uint32_t>(at), offset.getZExtValue(), std::move(symbol)});
    return true;
  }

  const llvm::DataLayout& layout_;
  int depth_ = 0;
};

}  // namespace

llvm::Error shareConstants(llvm::Module& module) {
  Content content(module.getDataLayout());
  llvm::SmallVector<llvm::GlobalVariable*, 8> kept;
  for (llvm::GlobalVariable& variable : module.globals()) {
    variable.removeDeadConstantUsers();
    if (isLocalConstant(variable) && addressMayBeKept(variable)) kept.push_back(&variable);
  }
  for (llvm::GlobalVariable* variable : kept) {
    const std::string symbol = content.intern(*variable);
    if (symbol.empty()) {
      return llvm::createStringError("the address of the constant %s may be kept, and its content is known too late",
                                     variable->getName().str().c_str());
    }
    llvm::GlobalVariable* shared = module.getNamedGlobal(symbol);
    if (shared == nullptr) {
      shared = new llvm::GlobalVariable(module, variable->getValueType(), true, llvm::GlobalValue::ExternalLinkage,
                                        nullptr, symbol);
      shared->setAlignment(variable->getAlign());
    }
    variable->replaceAllUsesWith(shared);
  }
  for (llvm::GlobalVariable* variable : kept) variable->eraseFromParent();
  return llvm::Error::success();
}

}  // namespace shunt::jit
