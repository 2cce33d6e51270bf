// A thunk whose code goes with it: an object, compiled now or by another process, bound to this one.
#pragma once

#include "jit/debug/gdb_object.h"
#include "jit/link/linker.h"
#include "jit/plan/plan_symbols.h"

#include "src/dispatch/thunk.h"

namespace shunt::jit {

class LinkedThunk final : public Thunk {
 public:
  /// Links the object with its function of that name, and tells perf and gdb, if they want to know, the plan's debug
  /// name. Not published.
  static llvm::Expected<intrusive_ptr<LinkedThunk>> make(std::unique_ptr<llvm::MemoryBuffer> object,
                                                         const std::string& function, const Plan& plan,
                                                         const Reliance& reliance, const PlanSymbols& symbols);
  size_t bytes() const { return linked_.bytes(); }

 private:
  LinkedCode linked_;
  GdbObject gdb_;
};

}  // namespace shunt::jit
