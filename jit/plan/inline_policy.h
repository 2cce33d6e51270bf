// Which of the functions that a thunk calls come into it. A value, used by one thread during one compile.
//
// Note [What comes into a thunk]
// The wrappers, because their redispatches fold into calls of each other; the kernel where its elementwise loop is
// specialised, where it is small, or where it calls operators that are inlined (jit/emit/planned_calls.h); and other
// small functions. Everything else the host has compiled as well as we could, and inlining it would save one call for
// the time that compiling it takes: results like the operands are made by newCpuTensorLike, of whose call nothing can
// be measured (add of 16 floats 24.6 ns; with the general allocation inline 26.1, in a thunk of twice the code).
#pragma once

#include "jit/bitcode/extract.h"
#include "jit/plan/plan.h"

#include <llvm/IR/Module.h>

#include <set>
#include <string>
#include <vector>

namespace shunt::jit {

class InlinePolicy {
 public:
  /// Of the plan's tier.
  explicit InlinePolicy(const Plan& plan);

  /// Whether to bring in the body of this declaration.
  bool wants(const llvm::Function& declaration, Extraction& extraction) const;
  /// The same for the kernel that a step's table entry calls.
  bool wantsKernel(const llvm::Function& declaration, const Step& step, Extraction& extraction) const;
  /// Whether one more operator's chain may come.
  bool hasRoomForChain(const llvm::Module& module) const;
  void imported(llvm::Function& f);
  void refused(const std::string& name) { refused_.insert(name); }

 private:
  bool hasRoom() const;

  const bool has_loop_, calls_operators_, is_composite_;
  std::set<std::string> refused_;
  size_t instructions_ = 0;
};

/// The annotations that the policy knows (Note [Annotated functions], shunt/core/annotate.h), for a test that each is
/// in use: a role that no function has any more would only make thunks slower.
std::vector<std::string> rolesOfPolicy();

/// Whether opgen wrote the function, around kernels.
bool isGeneratedKernel(llvm::StringRef symbol);

/// Whether it is part of a chain: a wrapper or a kernel, or any function of another library's bitcode.
bool isChainFunction(llvm::StringRef symbol);

}  // namespace shunt::jit
