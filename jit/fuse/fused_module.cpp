#include "jit/fuse/fused_module.h"

#include "jit/fuse/check_spec.h"
#include "jit/host/host_symbols.h"
#include "jit/host/host_target.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/MDBuilder.h>

#include <cstddef>

namespace shunt::jit {
namespace {

using elementwise::ScalarSlot;
using elementwise::View;

/// Inlines the function, and all that came with it. False: part of it is to stay a call, so its loop is no vector loop.
bool inlineWhole(llvm::Function& f) {
  if (f.hasFnAttribute(llvm::Attribute::AlwaysInline) && f.doesNotThrow()) return true;
  f.addFnAttr(llvm::Attribute::AlwaysInline);
  f.setDoesNotThrow();
  for (llvm::Instruction& i : llvm::instructions(f)) {
    auto* call = llvm::dyn_cast<llvm::CallBase>(&i);
    if (call == nullptr) continue;
    llvm::Function* callee = call->getCalledFunction();
    if (callee == nullptr) return false;
    if (callee->isIntrinsic()) continue;
    if (callee->isDeclaration() || callee->hasFnAttribute(llvm::Attribute::NoInline) || !inlineWhole(*callee))
      return false;
  }
  return true;
}

/// The name of a step's loop; "" where there is no bitcode of it. One of a library that is gone by now means nothing.
std::string nameOf(const FusedStep& step, const Libraries& libraries) {
  std::string name = libraries.symbolOf(reinterpret_cast<const void*>(step.body));
  const auto qualified = QualifiedName::parse(name);
  return (qualified ? qualified->library : 0) == step.library ? name : "";
}

llvm::Expected<llvm::Function*> importBody(const FusedStep& step, size_t place, Extraction& extraction,
                                           const Libraries& libraries) {
  const auto refused = [&](const std::string& why) {
    return llvm::createStringError("step %zu can't be fused: %s", place, why.c_str());
  };
  const std::string name = nameOf(step, libraries);
  if (name.empty()) return refused("its loop is of a library without bitcode");
  auto body = extraction.import(name, Extraction::Inline::kAll);
  if (!body) return refused(llvm::toString(body.takeError()));
  if (!inlineWhole(**body)) return refused("it calls a function for some elements, which no vector loop can");
  return body;
}

/// What the loop reads and writes: a pointer that moves by the outer stride, and the inner stride.
struct Operand {
  llvm::Value* base;
  llvm::Value* outer;
  llvm::Value* inner;
  llvm::Value* row = nullptr;
  llvm::AllocaInst* slot = nullptr;  // of an input: its element, for the steps to read
};

class FusedBuilder {
 public:
  FusedBuilder(const FusedLoopSpec& spec, llvm::ArrayRef<llvm::Function*> bodies, llvm::Module& module)
      : spec_(spec), bodies_(bodies), b_(module.getContext()) {
    auto* type = llvm::FunctionType::get(b_.getInt1Ty(), {b_.getPtrTy()}, /*isVarArg=*/false);
    function_ = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, kFusedName, module);
    function_->setDoesNotThrow();
    function_->addRetAttr(llvm::Attribute::ZExt);
    HostTarget::instance().prepare(*function_);
  }

  void build() {
    auto* entry = block("entry");
    b_.SetInsertPoint(entry);
    readCall();
    makeSlots();
    auto* zero = b_.getInt64(0);
    auto *outer = block("outer"), *inner = block("inner"), *row_end = block("row_end"), *done = block("done");
    b_.CreateCondBr(b_.CreateAnd(b_.CreateICmpSGT(rows_, zero), b_.CreateICmpSGT(count_, zero)), outer, done);

    b_.SetInsertPoint(outer);
    auto* row = counter("row", zero, entry);
    auto* outer_valid = b_.CreatePHI(b_.getInt1Ty(), 2, "valid");
    outer_valid->addIncoming(b_.getTrue(), entry);
    for (auto* list : {&inputs_, &outputs_})
      for (Operand& o : *list) o.row = b_.CreateGEP(b_.getInt8Ty(), o.base, b_.CreateMul(row, o.outer));
    loadInputs(FusedStride::kZero, zero);
    b_.CreateBr(inner);

    b_.SetInsertPoint(inner);
    auto* at = counter("i", zero, outer);
    auto* valid = b_.CreatePHI(b_.getInt1Ty(), 2, "valid");
    valid->addIncoming(outer_valid, outer);
    llvm::Value* now = emitElement(at, valid);
    markIndependent(*closeLoop(*at, count_, *valid, now, inner, row_end));

    b_.SetInsertPoint(row_end);
    closeLoop(*row, rows_, *outer_valid, now, outer, done);

    b_.SetInsertPoint(done);
    auto* result = b_.CreatePHI(b_.getInt1Ty(), 2);
    result->addIncoming(b_.getTrue(), entry);
    result->addIncoming(now, row_end);
    b_.CreateRet(result);
  }

 private:
  llvm::BasicBlock* block(const char* name) { return llvm::BasicBlock::Create(b_.getContext(), name, function_); }
  llvm::Value* at(llvm::Value* p, size_t offset) { return b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), p, offset); }
  llvm::Value* field(size_t offset, llvm::Type* type) { return b_.CreateLoad(type, at(function_->getArg(0), offset)); }
  llvm::Value* element(llvm::Value* list, size_t i, llvm::Type* type) {
    return b_.CreateLoad(type, at(list, i * sizeof(uint64_t)));
  }

  llvm::PHINode* counter(const char* name, llvm::Value* zero, llvm::BasicBlock* from) {
    auto* phi = b_.CreatePHI(b_.getInt64Ty(), 2, name);
    phi->addIncoming(zero, from);
    return phi;
  }

  llvm::BranchInst* closeLoop(llvm::PHINode& index, llvm::Value* end, llvm::PHINode& valid, llvm::Value* now,
                              llvm::BasicBlock* head, llvm::BasicBlock* exit) {
    auto* next = b_.CreateAdd(&index, b_.getInt64(1), "", /*HasNUW=*/true, /*HasNSW=*/true);
    index.addIncoming(next, b_.GetInsertBlock());
    valid.addIncoming(now, b_.GetInsertBlock());
    auto* branch = b_.CreateCondBr(b_.CreateICmpSLT(next, end), head, exit);
    return branch;
  }

  llvm::Value* stride(FusedStride kind, ScalarType dtype, llvm::Value* list, size_t i) {
    if (kind == FusedStride::kAny) return element(list, i, b_.getInt64Ty());
    return b_.getInt64(kind == FusedStride::kUnit ? static_cast<uint64_t>(elementSize(dtype)) : 0);
  }

  void readCall() {
    llvm::Type *pointer = b_.getPtrTy(), *number = b_.getInt64Ty();
    rows_ = field(offsetof(FusedCall, outer), number);
    count_ = field(offsetof(FusedCall, inner), number);
    scalars_ = field(offsetof(FusedCall, scalars), pointer);
    auto* in = field(offsetof(FusedCall, inputs), pointer);
    auto* in_outer = field(offsetof(FusedCall, input_outer), pointer);
    auto* in_inner = field(offsetof(FusedCall, input_inner), pointer);
    for (size_t i = 0; i < spec_.inputs.size(); ++i)
      inputs_.push_back({element(in, i, pointer), element(in_outer, i, number),
                         stride(spec_.inputs[i].stride, spec_.inputs[i].dtype, in_inner, i)});
    auto* out = field(offsetof(FusedCall, outputs), pointer);
    auto* out_outer = field(offsetof(FusedCall, output_outer), pointer);
    auto* out_inner = field(offsetof(FusedCall, output_inner), pointer);
    for (size_t i = 0; i < spec_.outputs.size(); ++i)
      outputs_.push_back({element(out, i, pointer), element(out_outer, i, number),
                          stride(spec_.outputs[i].stride, dtypeOf(spec_.outputs[i]), out_inner, i)});
  }

  ScalarType dtypeOf(const FusedOutput& output) const { return spec_.steps[output.step].result; }

  llvm::Type* storage(ScalarType dtype) { return b_.getIntNTy(8 * static_cast<unsigned>(elementSize(dtype))); }

  /// For each input and step's result, and the views that its loop is called with.
  void makeSlots() {
    for (size_t i = 0; i < spec_.inputs.size(); ++i) inputs_[i].slot = b_.CreateAlloca(storage(spec_.inputs[i].dtype));
    auto* bytes = llvm::ArrayType::get(b_.getInt8Ty(), sizeof(View));
    for (const FusedStep& step : spec_.steps) {
      auto* slot = b_.CreateAlloca(b_.getInt64Ty());
      auto* out = b_.CreateAlloca(bytes);
      auto* in = b_.CreateAlloca(llvm::ArrayType::get(bytes, step.operands.size()));
      out->setAlignment(llvm::Align(alignof(View)));
      in->setAlignment(llvm::Align(alignof(View)));
      results_.push_back(slot);
      out_views_.push_back(out);
      in_views_.push_back(in);
    }
  }

  void storeView(llvm::Value* view, llvm::Value* p, ScalarType dtype) {
    b_.CreateStore(p, at(view, offsetof(View, p)));
    b_.CreateStore(b_.getInt64(static_cast<uint64_t>(elementSize(dtype))), at(view, offsetof(View, stride)));
    b_.CreateStore(b_.getIntN(8 * sizeof(ScalarType), static_cast<uint64_t>(dtype)), at(view, offsetof(View, dtype)));
  }

  llvm::Value* address(const Operand& o, llvm::Value* i) {
    return b_.CreateGEP(b_.getInt8Ty(), o.row, b_.CreateMul(i, o.inner, "", /*HasNUW=*/false, /*HasNSW=*/true));
  }

  /// Where the step's scalars are: its own constants, or the call's.
  llvm::Value* scalarsOf(const FusedStep& step) {
    if (step.constants.empty()) return at(scalars_, step.first_scalar * sizeof(ScalarSlot));
    auto* bytes = llvm::ConstantDataArray::get(b_.getContext(), llvm::ArrayRef<uint64_t>(step.constants));
    auto* global = new llvm::GlobalVariable(*function_->getParent(), bytes->getType(), /*isConstant=*/true,
                                            llvm::GlobalValue::PrivateLinkage, bytes);
    global->setAlignment(llvm::Align(alignof(ScalarSlot)));
    return global;
  }

  /// Those that have one element for a row, before the row; or all others.
  void loadInputs(FusedStride which, llvm::Value* i) {
    for (size_t k = 0; k < inputs_.size(); ++k) {
      const FusedInput& input = spec_.inputs[k];
      if ((input.stride == FusedStride::kZero) != (which == FusedStride::kZero)) continue;
      if (input.constant) {
        b_.CreateStore(llvm::ConstantInt::get(storage(input.dtype), *input.constant), inputs_[k].slot);
        continue;
      }
      auto* load = b_.CreateAlignedLoad(storage(input.dtype), address(inputs_[k], i),
                                        llvm::Align(static_cast<uint64_t>(elementSize(input.dtype))));
      if (which != FusedStride::kZero) mark(*load);
      b_.CreateStore(load, inputs_[k].slot);
    }
  }

  /// All loads, all steps, then all stores: an output may be an input's memory.
  llvm::Value* emitElement(llvm::Value* i, llvm::Value* valid) {
    loadInputs(FusedStride::kUnit, i);
    for (size_t place = 0; place < spec_.steps.size(); ++place) {
      const FusedStep& step = spec_.steps[place];
      storeView(out_views_[place], results_[place], step.result);
      for (size_t k = 0; k < step.operands.size(); ++k) {
        const FusedOperand& from = step.operands[k];
        const bool is_step = from.kind == FusedOperand::kStep;
        storeView(at(in_views_[place], k * sizeof(View)), is_step ? results_[from.index] : inputs_[from.index].slot,
                  is_step ? spec_.steps[from.index].result : spec_.inputs[from.index].dtype);
      }
      llvm::Function& body = *bodies_[place];
      auto* common = llvm::ConstantInt::get(body.getArg(4)->getType(), static_cast<uint64_t>(step.common));
      auto* call = b_.CreateCall(&body, {out_views_[place], in_views_[place], b_.getInt64(1), scalarsOf(step), common});
      call->setAttributes(body.getAttributes());
      call->removeFnAttr(llvm::Attribute::AlwaysInline);
      call->setCallingConv(body.getCallingConv());
      mark(*call);
      call->setMetadata(llvm::LLVMContext::MD_noalias, outputs_scope_);
      valid = b_.CreateAnd(valid, call);
    }
    for (size_t k = 0; k < outputs_.size(); ++k) {
      llvm::Type* type = storage(dtypeOf(spec_.outputs[k]));
      auto* store = b_.CreateAlignedStore(b_.CreateLoad(type, results_[spec_.outputs[k].step]), address(outputs_[k], i),
                                          llvm::Align(static_cast<uint64_t>(elementSize(dtypeOf(spec_.outputs[k])))));
      store->setMetadata(llvm::LLVMContext::MD_alias_scope, outputs_scope_);
      mark(*store);
    }
    return valid;
  }

  // A chain of steps waits for its own results, so several vectors are computed in turns: 4 take 0.70 of one's time for
  // 40 steps on 16 Ki floats, 0.86 for a * b + c, relu, sigmoid. Where many operands pass by (Adam: 14), 4 only run out
  // of registers. Short rows would not fill them.
  unsigned interleaved() const {
    constexpr size_t kManyOperands = 8;
    if (spec_.short_rows) return 1;
    const auto rows = llvm::count_if(spec_.inputs, [](const FusedInput& i) { return i.stride != FusedStride::kZero; });
    return static_cast<size_t>(rows) + spec_.outputs.size() > kManyOperands ? 2 : 4;
  }

  // Elements are independent, as the caller promises (FusedCall): what reads or writes them is of one access group,
  // which inlining hands on.
  void mark(llvm::Instruction& i) { i.setMetadata(llvm::LLVMContext::MD_access_group, group_); }

  void markIndependent(llvm::BranchInst& latch) {
    llvm::LLVMContext& context = b_.getContext();
    auto* text = llvm::MDString::get(context, "llvm.loop.parallel_accesses");
    llvm::SmallVector<llvm::Metadata*> about = {nullptr, llvm::MDNode::get(context, {text, group_})};
    about.push_back(llvm::MDNode::get(context, {llvm::MDString::get(context, "llvm.loop.interleave.count"),
                                                llvm::ConstantAsMetadata::get(b_.getInt32(interleaved()))}));
    llvm::MDNode* id = llvm::MDNode::getDistinct(context, about);
    id->replaceOperandWith(0, id);
    latch.setMetadata(llvm::LLVMContext::MD_loop, id);
  }

  const FusedLoopSpec& spec_;
  llvm::ArrayRef<llvm::Function*> bodies_;
  llvm::IRBuilder<> b_;
  llvm::MDNode* group_ = llvm::MDNode::getDistinct(b_.getContext(), {});
  // Of the outputs' memory, which a step's own loop doesn't read: it has inputs in slots. So its scalars stay in
  // registers.
  llvm::MDNode* outputs_scope_ = [this] {
    llvm::MDBuilder made(b_.getContext());
    return llvm::MDNode::get(b_.getContext(), {made.createAnonymousAliasScope(made.createAnonymousAliasScopeDomain())});
  }();
  llvm::Function* function_;
  llvm::Value *rows_ = nullptr, *count_ = nullptr, *scalars_ = nullptr;
  llvm::SmallVector<Operand> inputs_, outputs_;
  llvm::SmallVector<llvm::Value*> results_, out_views_, in_views_;
};

}  // namespace

llvm::Error buildFusedLoop(const FusedLoopSpec& spec, Extraction& extraction, const Libraries& libraries) {
  if (const std::string problem = problemOf(spec); !problem.empty()) return llvm::createStringError(problem);
  llvm::SmallVector<llvm::Function*> bodies;
  for (size_t i = 0; i < spec.steps.size(); ++i) {
    auto body = importBody(spec.steps[i], i, extraction, libraries);
    if (!body) return body.takeError();
    bodies.push_back(*body);
  }
  FusedBuilder(spec, bodies, extraction.module()).build();
  return llvm::Error::success();
}

}  // namespace shunt::jit
