#include "jit/bitcode/source_unit.h"

#include "jit/emit/host_target.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/InstrTypes.h>

namespace shunt::jit {

llvm::Expected<std::unique_ptr<SourceUnit>> SourceUnit::open(llvm::StringRef bitcode, uint32_t number,
                                                             llvm::Module& target, Binding& binding) {
  auto source = llvm::getLazyBitcodeModule(llvm::MemoryBufferRef(bitcode, "shunt_bc"), target.getContext(),
                                           /*ShouldLazyLoadMetadata=*/true);
  if (!source) return source.takeError();
  return std::unique_ptr<SourceUnit>(new SourceUnit(std::move(*source), number, target, binding));
}

SourceUnit::SourceUnit(std::unique_ptr<llvm::Module> source, uint32_t number, llvm::Module& target, Binding& binding)
    : source_(std::move(source)),
      number_(number),
      target_(target),
      binding_(binding),
      mapper_(map_, llvm::RF_IgnoreMissingLocals | llvm::RF_ReuseAndMutateDistinctMDs, nullptr, this) {}

llvm::Function* SourceUnit::find(llvm::StringRef name) const {
  llvm::Function* function = source_->getFunction(name);
  return function != nullptr && !function->isDeclaration() ? function : nullptr;
}

llvm::Expected<const References*> SourceUnit::references(llvm::Function& function) {
  if (const auto known = references_.find(&function); known != references_.end()) return &known->second;
  if (llvm::Error error = function.materialize()) return std::move(error);
  if (source_->debug_compile_units_begin() != source_->debug_compile_units_end()) llvm::stripDebugInfo(function);
  return &(references_[&function] = findReferences(function));
}

std::string SourceUnit::localName(const llvm::GlobalValue& source) const {
  return source.getName().str() + "." + std::to_string(number_);
}

llvm::Function* SourceUnit::known(const llvm::GlobalValue& source) const {
  return source.hasLocalLinkage() ? locals_.lookup(&source) : target_.getFunction(source.getName());
}

bool SourceUnit::isHere(const llvm::GlobalValue& source) const {
  const llvm::Function* function = known(source);
  return function != nullptr && !function->isDeclaration();
}

llvm::Function* SourceUnit::counterpart(llvm::GlobalValue& source) {
  if (llvm::Function* function = known(source)) return function;
  const bool local = source.hasLocalLinkage();
  auto* type = llvm::cast<llvm::FunctionType>(source.getValueType());
  llvm::Function* made =
      llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage,
                             local ? llvm::Twine(localName(source)) : llvm::Twine(source.getName()), target_);
  if (const auto* function = llvm::dyn_cast<llvm::Function>(&source)) {
    made->setCallingConv(function->getCallingConv());
    made->setAttributes(function->getAttributes());
    if (!function->isIntrinsic()) HostTarget::instance().prepare(*made);
  }
  if (local) locals_[&source] = made;
  return made;
}

llvm::Function* SourceUnit::move(llvm::Function& source) {
  llvm::Function* target = counterpart(source);
  target->setCallingConv(source.getCallingConv());
  target->setAttributes(source.getAttributes());
  target->setUnnamedAddr(source.getUnnamedAddr());
  target->setLinkage(llvm::GlobalValue::InternalLinkage);
  if (source.hasPersonalityFn()) {
    target->setPersonalityFn(counterpart(*llvm::cast<llvm::GlobalValue>(source.getPersonalityFn())));
  }
  target->stealArgumentListFrom(source);
  target->splice(target->end(), &source);
  HostTarget::instance().prepare(*target);
  remap(*target);
  return target;
}

// Callees are set by hand first: the mapper can't tell a call from an address that is kept.
void SourceUnit::remap(llvm::Function& moved) {
  for (llvm::Instruction& instruction : llvm::instructions(moved)) {
    auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    if (call == nullptr) continue;
    auto* callee = llvm::dyn_cast<llvm::GlobalValue>(call->getCalledOperand());
    if (callee != nullptr && callee->getParent() != &target_) call->setCalledOperand(counterpart(*callee));
  }
  for (llvm::Instruction& instruction : llvm::instructions(moved)) mapper_.remapInstruction(instruction);
}

llvm::Value* SourceUnit::materialize(llvm::Value* value) {
  auto* global = llvm::dyn_cast<llvm::GlobalValue>(value);
  if (global == nullptr || global->getParent() == &target_) return nullptr;
  if (binding_.address(*global) == Binding::Address::kCopy) return copyConstant(*llvm::cast<llvm::GlobalVariable>(global));
  return declareHost(*global);
}

llvm::Value* SourceUnit::declareHost(llvm::GlobalValue& source) {
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

llvm::Value* SourceUnit::copyConstant(llvm::GlobalVariable& source) {
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
