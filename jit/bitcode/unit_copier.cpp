#include "jit/bitcode/unit_copier.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/Transforms/Utils/Cloning.h>

namespace shunt::jit {

UnitCopier::UnitCopier(SourceUnit& unit, llvm::Module& target, Binding& binding)
    : unit_(unit), target_(target), binding_(binding), mapper_(map_, llvm::RF_IgnoreMissingLocals, nullptr, this) {}

std::string UnitCopier::localName(const llvm::GlobalValue& source) const {
  return source.getName().str() + "." + std::to_string(unit_.number());
}

llvm::Function* UnitCopier::known(const llvm::GlobalValue& source) const {
  return source.hasLocalLinkage() ? locals_.lookup(&source) : target_.getFunction(source.getName());
}

bool UnitCopier::isHere(const llvm::GlobalValue& source) const {
  const llvm::Function* function = known(source);
  return function != nullptr && !function->isDeclaration();
}

llvm::Function* UnitCopier::counterpart(llvm::GlobalValue& source) {
  if (llvm::Function* function = known(source)) return function;
  const bool local = source.hasLocalLinkage();
  auto* type = llvm::cast<llvm::FunctionType>(source.getValueType());
  llvm::Function* made =
      llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage,
                             local ? llvm::Twine(localName(source)) : llvm::Twine(source.getName()), target_);
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

// Callees are set by hand first: the mapper can't tell a call from an address that is kept.
void UnitCopier::copyBody(llvm::Function& source, llvm::Function& target) {
  for (llvm::Argument& argument : source.args()) map_[&argument] = target.getArg(argument.getArgNo());
  for (llvm::BasicBlock& block : source) map_[&block] = llvm::CloneBasicBlock(&block, map_, "", &target);
  for (llvm::Instruction& instruction : llvm::instructions(target)) {
    if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
      auto* callee = llvm::dyn_cast<llvm::GlobalValue>(call->getCalledOperand());
      if (callee != nullptr && callee->getParent() != &target_) call->setCalledOperand(counterpart(*callee));
    }
    mapper_.remapInstruction(instruction);
  }
}

llvm::Value* UnitCopier::materialize(llvm::Value* value) {
  auto* global = llvm::dyn_cast<llvm::GlobalValue>(value);
  if (global == nullptr || global->getParent() == &target_) return nullptr;
  if (binding_.address(*global) == Binding::Address::kCopy) return copyConstant(*llvm::cast<llvm::GlobalVariable>(global));
  return declareHost(*global);
}

llvm::Value* UnitCopier::declareHost(llvm::GlobalValue& source) {
  const std::string name = binding_.hostName(source.getName());
  if (llvm::GlobalValue* known = target_.getNamedValue(name)) return known;
  if (auto* type = llvm::dyn_cast<llvm::FunctionType>(source.getValueType())) {
    return llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, target_);
  }
  const auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(&source);
  auto* made = new llvm::GlobalVariable(target_, source.getValueType(), variable != nullptr && variable->isConstant(),
                                        llvm::GlobalValue::ExternalLinkage, nullptr, name, nullptr,
                                        source.getThreadLocalMode());
  if (variable != nullptr) made->setAlignment(variable->getAlign());
  return made;
}

llvm::Value* UnitCopier::copyConstant(llvm::GlobalVariable& source) {
  const bool host = !source.hasLocalLinkage() && binding_.hostHas(source.getName());
  if (host) {
    if (llvm::GlobalValue* known = target_.getNamedValue(source.getName())) return known;
  }
  auto* made = new llvm::GlobalVariable(
      target_, source.getValueType(), true,
      host ? llvm::GlobalValue::AvailableExternallyLinkage : llvm::GlobalValue::InternalLinkage, nullptr,
      host ? source.getName().str() : localName(source));
  made->setAlignment(source.getAlign());
  made->setUnnamedAddr(source.getUnnamedAddr());
  mapper_.scheduleMapGlobalInitializer(*made, *source.getInitializer());
  return made;
}

}  // namespace shunt::jit
