// The CPU that thunks are compiled for: this one, held to the level that SHUNT_ISA asks for. Constant after the first
// call of instance(), a pool with a lock apart; any thread.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <string>

namespace shunt::jit {

class HostTarget {
 public:
  static const HostTarget& instance();

  const std::string& triple() const { return triple_; }
  /// Every feature that is used, by name, so that a CPU name misjudged under a hypervisor changes nothing.
  const std::string& features() const { return features_; }
  /// The widest vector that code should use, in bits.
  unsigned vectorWidth() const { return vector_width_; }

  struct GiveBack {
    void operator()(llvm::TargetMachine* machine) const;
  };
  using Machine = std::unique_ptr<llvm::TargetMachine, GiveBack>;
  /// A machine for the caller alone. Those given back are kept: what they know of the CPU takes 0.2 ms to find out.
  Machine makeMachine() const;
  /// One for the code generator. `fast`: takes FastISel where that can select (Note [Fast selection],
  /// passes/fast_selection.h). The caller's, and not kept.
  std::unique_ptr<llvm::TargetMachine> makeCodegenMachine(llvm::CodeGenOptLevel level, bool fast) const;
  /// Triple and data layout.
  void prepare(llvm::Module& module) const;
  /// Replaces what `function` says about its CPU by this one. Every function of a module needs the same, or the inliner
  /// silently refuses. Adds what unwinding needs.
  void prepare(llvm::Function& function) const;

 private:
  HostTarget();
  llvm::TargetMachine* newMachine(llvm::CodeGenOptLevel level) const;

  std::string triple_, features_, layout_;
  unsigned vector_width_ = 128;
  struct Pool;
  Pool* pool_;  // never destroyed
};

}  // namespace shunt::jit
