// Copies functions of one bitcode unit into one module.
//
// Belongs to an Extraction, and to its thread; dies before the module does. Everything that a body names is mapped to
// its counterpart in the module, which Binding has approved before.
#pragma once

#include "jit/bitcode/source_unit.h"

#include <llvm/Transforms/Utils/ValueMapper.h>

namespace shunt::jit {

class UnitCopier final : private llvm::ValueMaterializer {
 public:
  UnitCopier(SourceUnit& unit, llvm::Module& target);

  SourceUnit& unit() { return unit_; }
  /// Whether the module has the body of a source function, from this unit or another.
  bool isHere(const llvm::GlobalValue& source) const;
  /// Gives the module's function for a source function the body.
  llvm::Function* copy(llvm::Function& source);

 private:
  llvm::Function* known(const llvm::GlobalValue& source) const;
  /// The same function each time, with or without a body yet.
  llvm::Function* counterpart(llvm::GlobalValue& source);
  llvm::Value* materialize(llvm::Value* value) override;
  llvm::Value* declareHost(llvm::GlobalValue& source);
  llvm::Value* copyConstant(llvm::GlobalVariable& source);
  std::string localName(const llvm::GlobalValue& source) const;
  void copyBody(llvm::Function& source, llvm::Function& target);
  void replaceOperands(llvm::Instruction& copied);

  SourceUnit& unit_;
  llvm::Module& target_;
  Binding& binding_;
  llvm::DenseMap<const llvm::GlobalValue*, llvm::Function*> locals_;
  llvm::DenseMap<const llvm::Value*, llvm::Value*> locals_of_body_;  // of the one that is copied
  llvm::ValueToValueMapTy map_;
  llvm::ValueMapper mapper_;
};

}  // namespace shunt::jit
