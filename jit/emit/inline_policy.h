// Which of the functions that a thunk calls come into it. A value, used by one thread during one compile.
#pragma once

#include <llvm/IR/Function.h>

#include <set>
#include <string>

namespace shunt::jit {

class InlinePolicy {
 public:
  /// Whether to bring in the body of this declaration.
  bool wants(const llvm::Function& declaration) const;
  void imported(llvm::Function& f);
  void refused(const std::string& name) { refused_.insert(name); }

 private:
  std::set<std::string> refused_;
  size_t instructions_ = 0;
};

/// Of the sources that chains are made of: wrappers and kernels.
bool isChainFunction(llvm::StringRef mangled);

}  // namespace shunt::jit
