// Which of the functions that a thunk calls come into it. A value, used by one thread during one compile.
//
// Note [What comes into a thunk]
// The wrappers, because their redispatches fold into calls of each other; the kernel where its elementwise loop is
// specialised, or where it is small; the allocation of outputs; and other small functions. Everything else the host has
// compiled as well as we could, and inlining it would save one call for the time that compiling it takes.
#pragma once

#include "jit/bitcode/extract.h"

#include <llvm/IR/Function.h>

#include <set>
#include <string>

namespace shunt::jit {

class InlinePolicy {
 public:
  explicit InlinePolicy(bool has_loop) : has_loop_(has_loop) {}

  /// Whether to bring in the body of this declaration.
  bool wants(const llvm::Function& declaration, Extraction& extraction) const;
  /// The same for the kernel that a table entry calls.
  bool wantsKernel(const llvm::Function& declaration, Extraction& extraction) const;
  void imported(llvm::Function& f);
  void refused(const std::string& name) { refused_.insert(name); }

 private:
  const bool has_loop_;
  std::set<std::string> refused_;
  size_t instructions_ = 0;
};

/// Of the sources that chains are made of: wrappers and kernels.
bool isChainFunction(llvm::StringRef mangled);

}  // namespace shunt::jit
