#include "jit/bitcode/source_unit.h"

#include "jit/host/host_target.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

namespace shunt::jit {

namespace {

/// What inlining in the library's compile left about arguments that don't alias. Every copy of a function, of which a
/// thunk takes two or three, would need scopes of its own, and thunks come out the same without. So do libshunt's
/// without the types of what loads and stores access, which each instruction would carry along; a custom kernel's loop
/// may need these.
void dropAliasInfo(llvm::Function& function, bool types) {
  for (llvm::Instruction& i : llvm::make_early_inc_range(llvm::instructions(function))) {
    if (llvm::isa<llvm::NoAliasScopeDeclInst>(i)) {
      i.eraseFromParent();
    } else if (i.hasMetadata()) {
      i.setMetadata(llvm::LLVMContext::MD_alias_scope, nullptr);
      i.setMetadata(llvm::LLVMContext::MD_noalias, nullptr);
      if (types) i.setMetadata(llvm::LLVMContext::MD_tbaa, nullptr);
    }
  }
}

}  // namespace

llvm::Expected<std::unique_ptr<SourceUnit>> SourceUnit::open(llvm::StringRef bitcode, uint32_t number, Binding& binding,
                                                             llvm::LLVMContext& context) {
  auto source =
      llvm::getLazyBitcodeModule(llvm::MemoryBufferRef(bitcode, "shunt_bc"), context, /*ShouldLazyLoadMetadata=*/true);
  if (!source) return source.takeError();
  return std::unique_ptr<SourceUnit>(new SourceUnit(std::move(*source), number, binding));
}

llvm::Function* SourceUnit::find(llvm::StringRef name) const {
  llvm::Function* function = source_->getFunction(name);
  return function != nullptr && !function->isDeclaration() ? function : nullptr;
}

llvm::Expected<const References*> SourceUnit::references(llvm::Function& function) {
  if (const auto known = references_.find(&function); known != references_.end()) return &known->second;
  if (llvm::Error error = function.materialize()) return std::move(error);
  if (source_->debug_compile_units_begin() != source_->debug_compile_units_end()) llvm::stripDebugInfo(function);
  dropAliasInfo(function, /*types=*/binding_.isOfHost());
  return &(references_[&function] = findReferences(function));
}

llvm::AttributeList SourceUnit::attributes(llvm::Function& function) {
  if (!function.isIntrinsic() && prepared_.insert(&function).second) HostTarget::instance().prepare(function);
  return function.getAttributes();
}

}  // namespace shunt::jit
