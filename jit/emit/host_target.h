// The CPU that thunks are compiled for. Constant after the first call of instance(); any thread may read.
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
  /// Every feature by name, on or off, so that a CPU name misjudged under a hypervisor changes nothing.
  const std::string& features() const { return features_; }
  /// The widest vector that code should use, in bits.
  unsigned vectorWidth() const { return vector_width_; }

  /// A machine for one compile: they are cheap and not to be shared by threads.
  std::unique_ptr<llvm::TargetMachine> makeMachine() const;
  /// Triple and data layout.
  void prepare(llvm::Module& module) const;
  /// Replaces what `function` says about its CPU by this one. Every function of a module needs the same, or the inliner
  /// silently refuses. Adds what unwinding needs.
  void prepare(llvm::Function& function) const;

 private:
  HostTarget();
  std::string triple_, features_, layout_;
  unsigned vector_width_ = 128;
};

}  // namespace shunt::jit
