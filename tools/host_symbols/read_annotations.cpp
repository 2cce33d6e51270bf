// Reads the annotations of functions out of bitcode, where clang collects them in the array llvm.global.annotations.
#include "tools/host_symbols/symbols.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

namespace shunt::host_symbols {
namespace {

constexpr llvm::StringLiteral kPrefix = "shunt.";

/// The text without the prefix; "" for annotations that aren't the compiler's.
llvm::StringRef textOf(const llvm::Value& value) {
  const auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(value.stripPointerCasts());
  if (variable == nullptr || !variable->hasInitializer()) return "";
  const auto* data = llvm::dyn_cast<llvm::ConstantDataArray>(variable->getInitializer());
  if (data == nullptr || !data->isCString()) return "";
  llvm::StringRef text = data->getAsCString();
  return text.consume_front(kPrefix) ? text : "";
}

llvm::Error add(const llvm::GlobalValue& function, llvm::StringRef text, Symbols& symbols) {
  const std::string name = function.getName().str();
  if (function.isDiscardableIfUnused() && !function.isDeclaration())
    return llvm::createStringError("%s is inline or internal, and annotated", name.c_str());
  std::string& known = symbols[name].annotation;
  if (!known.empty() && known != text)
    return llvm::createStringError("%s is annotated as %s and as %s", name.c_str(), known.c_str(), text.str().c_str());
  known = text;
  return llvm::Error::success();
}

}  // namespace

llvm::Error addAnnotations(llvm::MemoryBufferRef bitcode, Symbols& symbols) {
  llvm::LLVMContext context;
  auto module = llvm::getLazyBitcodeModule(bitcode, context, /*ShouldLazyLoadMetadata=*/true);
  if (!module) return module.takeError();
  const llvm::GlobalVariable* all = (*module)->getNamedGlobal("llvm.global.annotations");
  const auto* rows = all != nullptr ? llvm::dyn_cast<llvm::ConstantArray>(all->getInitializer()) : nullptr;
  if (rows == nullptr) return llvm::Error::success();
  for (const llvm::Use& use : rows->operands()) {
    const auto* row = llvm::cast<llvm::ConstantStruct>(use.get());
    const auto* function = llvm::dyn_cast<llvm::Function>(row->getOperand(0)->stripPointerCasts());
    const llvm::StringRef text = textOf(*row->getOperand(1));
    if (function == nullptr || text.empty()) continue;
    if (llvm::Error error = add(*function, text, symbols)) return error;
  }
  return llvm::Error::success();
}

}  // namespace shunt::host_symbols
