// One bitcode unit within a compile: loaded lazily, its functions moved (not copied) into the compile's module.
//
// Belongs to an Extraction, and to its thread. Moving leaves the source without that body; everything the body names is
// mapped to its counterpart in the module, which Binding has approved before.
#pragma once

#include "jit/bitcode/binding.h"
#include "jit/bitcode/references.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/Error.h>
#include <llvm/Transforms/Utils/ValueMapper.h>

#include <memory>

namespace shunt::jit {

class SourceUnit final : private llvm::ValueMaterializer {
 public:
  static llvm::Expected<std::unique_ptr<SourceUnit>> open(llvm::StringRef bitcode, uint32_t number, llvm::Module& target,
                                                          Binding& binding);

  /// The unit's function with a body, null for none of that name.
  llvm::Function* find(llvm::StringRef name) const;
  /// Reads the body, if that is not done, and what it refers to.
  llvm::Expected<const References*> references(llvm::Function& function);
  /// Whether the module has the body of a source function, from this unit or another.
  bool isHere(const llvm::GlobalValue& source) const;
  /// The module's function for a source function: the same one each time, with or without a body yet.
  llvm::Function* counterpart(llvm::GlobalValue& source);
  /// Gives the counterpart the body.
  llvm::Function* move(llvm::Function& source);

 private:
  SourceUnit(std::unique_ptr<llvm::Module> source, uint32_t number, llvm::Module& target, Binding& binding);
  llvm::Function* known(const llvm::GlobalValue& source) const;
  llvm::Value* materialize(llvm::Value* value) override;
  llvm::Value* declareHost(llvm::GlobalValue& source);
  llvm::Value* copyConstant(llvm::GlobalVariable& source);
  std::string localName(const llvm::GlobalValue& source) const;
  void remap(llvm::Function& moved);

  std::unique_ptr<llvm::Module> source_;
  const uint32_t number_;
  llvm::Module& target_;
  Binding& binding_;
  llvm::DenseMap<llvm::Function*, References> references_;
  llvm::DenseMap<const llvm::GlobalValue*, llvm::Function*> locals_;
  llvm::ValueToValueMapTy map_;
  llvm::ValueMapper mapper_;
};

}  // namespace shunt::jit
