#include "jit/bitcode/unit_copier.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/InstrTypes.h>

namespace shunt::jit {

UnitCopier::UnitCopier(SourceUnit& unit, llvm::Module& target)
    : unit_(unit),
      target_(target),
      binding_(unit.binding()),
      mapper_(map_, llvm::RF_IgnoreMissingLocals, nullptr, this) {}

std::string UnitCopier::localName(const llvm::GlobalValue& source) const {
  // Where the host knows an internal function as well, that is its name.
  const llvm::StringRef host = binding_.hostSymbol(source);
  return !host.empty() ? host.str() : binding_.moduleName(source) + "." + std::to_string(unit_.number());
}

llvm::Function* UnitCopier::known(const llvm::GlobalValue& source) const {
  return source.hasLocalLinkage() ? locals_.lookup(&source) : target_.getFunction(binding_.moduleName(source));
}

bool UnitCopier::isHere(const llvm::GlobalValue& source) const {
  const llvm::Function* function = known(source);
  return function != nullptr && !function->isDeclaration();
}

llvm::Function* UnitCopier::counterpart(llvm::GlobalValue& source) {
  if (llvm::Function* function = known(source)) return function;
  const bool local = source.hasLocalLinkage();
  auto* type = llvm::cast<llvm::FunctionType>(source.getValueType());
  llvm::Function* made = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage,
                                                local ? localName(source) : binding_.moduleName(source), target_);
  if (auto* function = llvm::dyn_cast<llvm::Function>(&source)) {
    made->setCallingConv(function->getCallingConv());
    made->setAttributes(unit_.attributes(*function));
  }
  if (local) locals_[&source] = made;
  return made;
}

llvm::Function* UnitCopier::copy(llvm::Function& source) {
  llvm::Function* target = counterpart(source);
  target->setCallingConv(source.getCallingConv());
  target->setAttributes(unit_.attributes(source));
  target->setUnnamedAddr(source.getUnnamedAddr());
  target->setLinkage(llvm::GlobalValue::InternalLinkage);
  if (source.hasPersonalityFn()) {
    target->setPersonalityFn(counterpart(*llvm::cast<llvm::GlobalValue>(source.getPersonalityFn())));
  }
  copyBody(source, *target);
  return target;
}

// Not by LLVM's mapper, whose map has value handles: of what copying takes they are the better part. A copy is in the
// source's context, so it has the source's metadata.
void UnitCopier::copyBody(llvm::Function& source, llvm::Function& target) {
  locals_of_body_.clear();
  for (llvm::Argument& argument : source.args()) locals_of_body_[&argument] = target.getArg(argument.getArgNo());
  for (llvm::BasicBlock& block : source) {
    llvm::BasicBlock* made = llvm::BasicBlock::Create(target.getContext(), "", &target);
    locals_of_body_[&block] = made;
    for (llvm::Instruction& instruction : block) {
      llvm::Instruction* copied = instruction.clone();
      copied->insertInto(made, made->end());
      locals_of_body_[&instruction] = copied;
    }
  }
  for (llvm::Instruction& instruction : llvm::instructions(target)) replaceOperands(instruction);
}

// A callee is asked for by itself: the mapper can't tell a call from an address that is kept.
void UnitCopier::replaceOperands(llvm::Instruction& copied) {
  const auto* call = llvm::dyn_cast<llvm::CallBase>(&copied);
  for (llvm::Use& use : copied.operands()) {
    llvm::Value* value = use.get();
    if (llvm::isa<llvm::ConstantData, llvm::InlineAsm>(value)) continue;
    auto* callee = llvm::dyn_cast<llvm::GlobalValue>(value);
    if (callee != nullptr && call != nullptr && call->isCallee(&use)) {
      use.set(counterpart(*callee));
    } else if (llvm::isa<llvm::Constant>(value)) {
      use.set(mapper_.mapValue(*value));
    } else if (!llvm::isa<llvm::MetadataAsValue>(value)) {
      use.set(locals_of_body_.lookup(value));
    }
  }
  if (auto* phi = llvm::dyn_cast<llvm::PHINode>(&copied)) {
    for (unsigned i = 0; i < phi->getNumIncomingValues(); ++i)
      phi->setIncomingBlock(i, llvm::cast<llvm::BasicBlock>(locals_of_body_.lookup(phi->getIncomingBlock(i))));
  }
}

llvm::Value* UnitCopier::materialize(llvm::Value* value) {
  auto* global = llvm::dyn_cast<llvm::GlobalValue>(value);
  if (global == nullptr || global->getParent() == &target_) return nullptr;
  if (binding_.address(*global) == Binding::Address::kCopy)
    return copyConstant(*llvm::cast<llvm::GlobalVariable>(global));
  return declareHost(*global);
}

llvm::Value* UnitCopier::declareHost(llvm::GlobalValue& source) {
  // A thread-local variable has no address, and so no host symbol: its name is enough (emit/thread_local.h).
  const std::string name =
      source.isThreadLocal() ? source.getName().str() : binding_.hostName(binding_.hostSymbol(source));
  if (llvm::GlobalValue* known = target_.getNamedValue(name)) return known;
  if (auto* type = llvm::dyn_cast<llvm::FunctionType>(source.getValueType())) {
    return llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, target_);
  }
  const auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(&source);
  auto* made =
      new llvm::GlobalVariable(target_, source.getValueType(), variable != nullptr && variable->isConstant(),
                               llvm::GlobalValue::ExternalLinkage, nullptr, name, nullptr, source.getThreadLocalMode());
  if (variable != nullptr) made->setAlignment(variable->getAlign());
  return made;
}

llvm::Value* UnitCopier::copyConstant(llvm::GlobalVariable& source) {
  const llvm::StringRef host = binding_.hostSymbol(source);
  if (!host.empty()) {
    if (llvm::GlobalValue* known = target_.getNamedValue(host)) return known;
  }
  auto* made = new llvm::GlobalVariable(
      target_, source.getValueType(), true,
      !host.empty() ? llvm::GlobalValue::AvailableExternallyLinkage : llvm::GlobalValue::InternalLinkage, nullptr,
      !host.empty() ? host.str() : localName(source));
  made->setAlignment(source.getAlign());
  made->setUnnamedAddr(source.getUnnamedAddr());
  mapper_.scheduleMapGlobalInitializer(*made, *source.getInitializer());
  return made;
}

}  // namespace shunt::jit
