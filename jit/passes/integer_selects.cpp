#include "jit/passes/integer_selects.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

namespace shunt::jit {
namespace {

/// The operand of an absolute value, else null.
llvm::Value* absoluteOf(llvm::Value* v) {
  auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(v);
  return call != nullptr && call->getIntrinsicID() == llvm::Intrinsic::fabs ? call->getArgOperand(0) : nullptr;
}

/// The bits of a number that is made of bits, or a choice between such; else null. Looks no deeper than kDepth.
constexpr int kDepth = 4;
llvm::Value* bitsOf(llvm::IRBuilder<>& b, llvm::Value* v, llvm::Type* to, int depth = 0) {
  if (depth > kDepth) return nullptr;
  if (auto* constant = llvm::dyn_cast<llvm::ConstantFP>(v))
    return llvm::ConstantInt::get(to, constant->getValueAPF().bitcastToAPInt());
  if (auto* cast = llvm::dyn_cast<llvm::BitCastInst>(v)) return cast->getSrcTy() == to ? cast->getOperand(0) : nullptr;
  if (llvm::Value* x = absoluteOf(v)) {
    llvm::Value* bits = bitsOf(b, x, to, depth + 1);
    return bits != nullptr ? b.CreateAnd(bits, llvm::APInt::getSignedMaxValue(to->getIntegerBitWidth())) : nullptr;
  }
  auto* select = llvm::dyn_cast<llvm::SelectInst>(v);
  if (select == nullptr) return nullptr;
  llvm::Value* chosen = bitsOf(b, select->getTrueValue(), to, depth + 1);
  llvm::Value* other = chosen != nullptr ? bitsOf(b, select->getFalseValue(), to, depth + 1) : nullptr;
  return other != nullptr ? b.CreateSelect(select->getCondition(), chosen, other) : nullptr;
}

bool isFloatsBits(const llvm::Instruction& i) {
  return llvm::isa<llvm::BitCastInst>(i) && i.getType()->isIntegerTy() &&
         i.getOperand(0)->getType()->isFloatingPointTy();
}

}  // namespace

llvm::PreservedAnalyses IntegerSelectsPass::run(llvm::Function& f, llvm::FunctionAnalysisManager&) {
  bool changed = false;
  for (llvm::Instruction& i : llvm::make_early_inc_range(llvm::instructions(f))) {
    if (!isFloatsBits(i)) continue;
    llvm::IRBuilder<> b(&i);
    llvm::Value* bits = bitsOf(b, i.getOperand(0), i.getType());
    if (bits == nullptr) continue;
    i.replaceAllUsesWith(bits);
    i.eraseFromParent();
    changed = true;
  }
  return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

}  // namespace shunt::jit
