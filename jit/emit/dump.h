// SHUNT_JIT_DUMP=<directory>: every compile leaves its plan, the module before and after optimisation, and the assembly
// with the plan as comments. The environment is read once; files are named after the operator and numbered.
#pragma once

#include "jit/emit/optimise.h"
#include "jit/plan/plan.h"

#include <llvm/IR/Module.h>

#include <string>

namespace shunt::jit {

class Dump {
 public:
  static bool wanted();
  /// Writes the plan, if dumping is on.
  explicit Dump(const Plan& plan);
  /// Of what has no plan.
  Dump(const std::string& name, const std::string& plan);
  void module(const llvm::Module& module, const char* stage) const;
  void assembly(const llvm::Module& module, Effort effort) const;

 private:
  void write(const std::string& suffix, const std::string& text) const;
  std::string base_;  // path without suffix; empty: off
  std::string plan_;
};

}  // namespace shunt::jit
