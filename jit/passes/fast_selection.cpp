#include "jit/passes/fast_selection.h"

#include <llvm/Analysis/CFG.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/ProfDataUtils.h>

#include <algorithm>

namespace shunt::jit {
namespace {

// As many bytes as SelectionDAG sets or copies without a call.
constexpr uint64_t kMostStored = 128;

/// Calls of _Unwind_Resume in the place of the function's resumes, all in one block.
class Resumes {
 public:
  explicit Resumes(llvm::Function& function) : function_(function) {}

  bool lower() {
    llvm::SmallVector<llvm::ResumeInst*> resumes;
    for (llvm::BasicBlock& block : function_)
      if (auto* resume = llvm::dyn_cast<llvm::ResumeInst>(block.getTerminator())) resumes.push_back(resume);
    if (resumes.empty()) return false;
    llvm::PHINode* exceptions = makeCall(resumes.size());
    for (llvm::ResumeInst* resume : resumes) {
      llvm::Value* pair = resume->getValue();
      exceptions->addIncoming(pointerOf(*pair), resume->getParent());
      llvm::BranchInst::Create(exceptions->getParent(), resume->getParent());
      resume->eraseFromParent();
    }
    dropPairs();
    return true;
  }

 private:
  llvm::PHINode* makeCall(size_t resumes) {
    llvm::LLVMContext& context = function_.getContext();
    auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer()}, /*isVarArg=*/false);
    llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "", &function_));
    llvm::PHINode* exceptions = b.CreatePHI(pointer(), static_cast<unsigned>(resumes));
    llvm::CallInst* call =
        b.CreateCall(function_.getParent()->getOrInsertFunction("_Unwind_Resume", type), {exceptions});
    call->setDoesNotReturn();
    b.CreateUnreachable();
    return exceptions;
  }

  llvm::Type* pointer() const { return llvm::PointerType::getUnqual(function_.getContext()); }

  /// The exception's of what a landing pad returned.
  llvm::Value* pointerOf(llvm::Value& pair) {
    if (llvm::Value* known = pointers_.lookup(&pair)) return known;
    if (auto* phi = llvm::dyn_cast<llvm::PHINode>(&pair)) {
      llvm::IRBuilder<> b(phi);
      llvm::PHINode* made = b.CreatePHI(pointer(), phi->getNumIncomingValues());
      pointers_[phi] = made;  // first, as phis of a loop lead to themselves
      phis_.push_back(phi);
      for (unsigned i = 0; i < phi->getNumIncomingValues(); ++i)
        made->addIncoming(pointerOf(*phi->getIncomingValue(i)), phi->getIncomingBlock(i));
      return made;
    }
    if (auto* put = llvm::dyn_cast<llvm::InsertValueInst>(&pair)) {
      if (put->getIndices() == llvm::ArrayRef<unsigned>{0}) return put->getInsertedValueOperand();
      return pointerOf(*put->getAggregateOperand());
    }
    if (auto* constant = llvm::dyn_cast<llvm::Constant>(&pair)) return constant->getAggregateElement(0U);
    // A landing pad; or an argument, a call or a load, if there ever is one: all of them before the first use.
    auto* instruction = llvm::dyn_cast<llvm::Instruction>(&pair);
    llvm::IRBuilder<> b(function_.getContext());
    if (instruction != nullptr)
      b.SetInsertPoint(*instruction->getInsertionPointAfterDef());
    else
      b.SetInsertPoint(&*function_.getEntryBlock().getFirstInsertionPt());
    return pointers_[&pair] = b.CreateExtractValue(&pair, 0);
  }

  /// Those that nothing but each other reads any more.
  void dropPairs() {
    for (bool changed = true; changed;) {
      changed = false;
      llvm::erase_if(phis_, [&](llvm::PHINode* phi) {
        if (llvm::any_of(phi->users(), [&](const llvm::User* user) { return user != phi; })) return false;
        phi->replaceAllUsesWith(llvm::PoisonValue::get(phi->getType()));
        phi->eraseFromParent();
        return changed = true;
      });
    }
  }

  llvm::Function& function_;
  llvm::DenseMap<llvm::Value*, llvm::Value*> pointers_;
  llvm::SmallVector<llvm::PHINode*> phis_;
};

/// Parts of a small area: `most` bytes as long as there are so many, then a power of two.
template <class Act>
void forEachPart(uint64_t bytes, uint64_t most, llvm::LLVMContext& context, Act&& act) {
  for (uint64_t at = 0; at < bytes;) {
    const uint64_t part = std::min<uint64_t>(llvm::bit_floor(bytes - at), most);
    if (part == 16)
      act(at, llvm::FixedVectorType::get(llvm::Type::getInt64Ty(context), 2));
    else
      act(at, llvm::Type::getIntNTy(context, static_cast<unsigned>(8 * part)));
    at += part;
  }
}

bool isSmall(const llvm::MemIntrinsic& i) {
  const auto* bytes = llvm::dyn_cast<llvm::ConstantInt>(i.getLength());
  return bytes != nullptr && bytes->getZExtValue() <= kMostStored && !i.isVolatile() && i.getDestAddressSpace() == 0;
}

void storeZeros(llvm::MemSetInst& set) {
  llvm::IRBuilder<> b(&set);
  const llvm::Align align = set.getDestAlign().valueOrOne();
  // FastISel has no zeros of 16 bytes.
  forEachPart(llvm::cast<llvm::ConstantInt>(set.getLength())->getZExtValue(), 8, b.getContext(),
              [&](uint64_t at, llvm::Type* part) {
                b.CreateAlignedStore(llvm::Constant::getNullValue(part),
                                     b.CreateConstGEP1_64(b.getInt8Ty(), set.getDest(), at),
                                     llvm::commonAlignment(align, at));
              });
  set.eraseFromParent();
}

void storeCopy(llvm::MemCpyInst& copy) {
  llvm::IRBuilder<> b(&copy);
  const llvm::Align to = copy.getDestAlign().valueOrOne(), from = copy.getSourceAlign().valueOrOne();
  forEachPart(llvm::cast<llvm::ConstantInt>(copy.getLength())->getZExtValue(), 16, b.getContext(),
              [&](uint64_t at, llvm::Type* part) {
                llvm::Value* value = b.CreateAlignedLoad(
                    part, b.CreateConstGEP1_64(b.getInt8Ty(), copy.getSource(), at), llvm::commonAlignment(from, at));
                b.CreateAlignedStore(value, b.CreateConstGEP1_64(b.getInt8Ty(), copy.getDest(), at),
                                     llvm::commonAlignment(to, at));
              });
  copy.eraseFromParent();
}

/// Zeros that the optimiser stores as a vector.
bool isZeroVector(const llvm::StoreInst& store) {
  const auto* value = llvm::dyn_cast<llvm::Constant>(store.getValueOperand());
  return value != nullptr && value->getType()->isVectorTy() && value->isNullValue() && store.isSimple();
}

void storeParts(llvm::StoreInst& store) {
  llvm::IRBuilder<> b(&store);
  const uint64_t bytes = store.getDataLayout().getTypeStoreSize(store.getValueOperand()->getType());
  forEachPart(bytes, 8, b.getContext(), [&](uint64_t at, llvm::Type* part) {
    b.CreateAlignedStore(llvm::Constant::getNullValue(part),
                         b.CreateConstGEP1_64(b.getInt8Ty(), store.getPointerOperand(), at),
                         llvm::commonAlignment(store.getAlign(), at));
  });
  store.eraseFromParent();
}

bool storeSmallAreas(llvm::Function& function) {
  bool changed = false;
  for (llvm::Instruction& i : llvm::make_early_inc_range(llvm::instructions(function))) {
    if (auto* set = llvm::dyn_cast<llvm::MemSetInst>(&i)) {
      const auto* value = llvm::dyn_cast<llvm::ConstantInt>(set->getValue());
      if (value == nullptr || !value->isZero() || !isSmall(*set)) continue;
      storeZeros(*set);
      changed = true;
    } else if (auto* copy = llvm::dyn_cast<llvm::MemCpyInst>(&i)) {
      if (!isSmall(*copy) || copy->getSourceAddressSpace() != 0) continue;
      storeCopy(*copy);
      changed = true;
    } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&i); store != nullptr && isZeroVector(*store)) {
      storeParts(*store);
      changed = true;
    }
  }
  return changed;
}

/// An unconditional one's has no case.
void makeSwitch(llvm::BranchInst& branch) {
  llvm::IRBuilder<> b(&branch);
  if (branch.isUnconditional()) {
    b.CreateSwitch(b.getFalse(), branch.getSuccessor(0), 0);
    branch.eraseFromParent();
    return;
  }
  llvm::SwitchInst* made = b.CreateSwitch(branch.getCondition(), branch.getSuccessor(1), 1);
  made->addCase(b.getTrue(), branch.getSuccessor(0));
  uint64_t yes = 0, no = 0;
  if (llvm::extractBranchWeights(branch, yes, no) && std::max(yes, no) <= UINT32_MAX)
    llvm::setBranchWeights(*made, {static_cast<uint32_t>(no), static_cast<uint32_t>(yes)}, /*IsExpected=*/false);
  branch.eraseFromParent();
}

bool keepLoops(llvm::Function& function) {
  llvm::SmallVector<std::pair<const llvm::BasicBlock*, const llvm::BasicBlock*>, 4> back_edges;
  llvm::FindFunctionBackedges(function, back_edges);
  if (back_edges.empty()) return false;
  const llvm::DominatorTree dominators(function);
  const llvm::LoopInfo loops(dominators);
  bool changed = false;
  for (llvm::BasicBlock& block : function) {
    auto* branch = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator());
    if (branch == nullptr || loops.getLoopFor(&block) == nullptr) continue;
    if (branch->isConditional() && branch->getSuccessor(0) == branch->getSuccessor(1)) continue;
    makeSwitch(*branch);
    changed = true;
  }
  return changed;
}

/// Each in a block of its own: behind one FastISel takes nothing of its block.
bool setInvokesApart(llvm::Function& function) {
  llvm::SmallVector<llvm::InvokeInst*> invokes;
  for (llvm::BasicBlock& block : function)
    if (auto* invoke = llvm::dyn_cast<llvm::InvokeInst>(block.getTerminator());
        invoke != nullptr && &*block.getFirstNonPHIOrDbg() != invoke)
      invokes.push_back(invoke);
  for (llvm::InvokeInst* invoke : invokes) invoke->getParent()->splitBasicBlock(invoke);
  return !invokes.empty();
}

class FastSelectionPass final : public llvm::FunctionPass {
 public:
  explicit FastSelectionPass(bool keep_loops) : FunctionPass(ID), keep_loops_(keep_loops) {}
  llvm::StringRef getPassName() const override { return "Shunt's preparation of fast instruction selection"; }
  bool runOnFunction(llvm::Function& function) override { return prepareFastSelection(function, keep_loops_); }

 private:
  const bool keep_loops_;
  static char ID;
};

char FastSelectionPass::ID = 0;

}  // namespace

bool prepareFastSelection(llvm::Function& function, bool keep_loops) {
  const bool areas = storeSmallAreas(function);
  const bool resumes = Resumes(function).lower();
  const bool invokes = setInvokesApart(function);
  const bool loops = keep_loops && keepLoops(function);
  return areas || resumes || invokes || loops;
}

llvm::FunctionPass* makeFastSelectionPass(bool keep_loops) { return new FastSelectionPass(keep_loops); }

}  // namespace shunt::jit
