// One bitcode unit of a SourceCache: read lazily, and what its functions refer to.
//
// Belongs to its cache, and to whoever uses that. Immutable but for what has been read.
#pragma once

#include "jit/bitcode/binding.h"
#include "jit/bitcode/references.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/Error.h>

#include <memory>

namespace shunt::jit {

class SourceUnit {
 public:
  static llvm::Expected<std::unique_ptr<SourceUnit>> open(llvm::StringRef bitcode, uint32_t number, Binding& binding,
                                                          llvm::LLVMContext& context);

  uint32_t number() const { return number_; }
  /// How the names of its library are bound.
  Binding& binding() const { return binding_; }
  /// The unit's function with a body, null for none of that name.
  llvm::Function* find(llvm::StringRef name) const;
  /// Reads the body, if that is not done, and what it refers to.
  llvm::Expected<const References*> references(llvm::Function& function);
  /// The function's attributes, for the CPU that thunks are compiled for.
  llvm::AttributeList attributes(llvm::Function& function);

 private:
  SourceUnit(std::unique_ptr<llvm::Module> source, uint32_t number, Binding& binding)
      : source_(std::move(source)), number_(number), binding_(binding) {}

  std::unique_ptr<llvm::Module> source_;
  const uint32_t number_;
  Binding& binding_;
  llvm::DenseMap<llvm::Function*, References> references_;
  llvm::SmallPtrSet<llvm::Function*, 32> prepared_;
};

}  // namespace shunt::jit
