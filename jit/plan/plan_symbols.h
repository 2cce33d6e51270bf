// The process's addresses in a plan, under names that mean the same in every process: "plan:functor.12" is the functor
// of the table's slot 12.
//
// Code refers to such addresses by these names alone, and they are bound when it is linked, from the plan at hand: so
// an object holds no address, and another process may link it too. Constant once made; lives no longer than its plan.
#pragma once

#include "jit/plan/plan.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/IR/Module.h>

#include <optional>
#include <string>
#include <vector>

namespace shunt::jit {

class PlanSymbols {
 public:
  static constexpr llvm::StringLiteral kPrefix = "plan:";

  explicit PlanSymbols(const Plan& plan);

  /// One for each address, however many places hold it; "" for an address that is not the plan's.
  std::string name(const void* address) const;
  std::optional<uint64_t> address(llvm::StringRef name) const;
  bool has(uint64_t address) const {
    constexpr uint64_t kEnd = uint64_t{1} << 47;  // of what a process can have; the map has keys of its own beyond
    return address < kEnd && first_.contains(reinterpret_cast<const void*>(address));
  }
  /// The address as a constant of the module: a declaration, or null. What is not the plan's is a number, and the
  /// object is this process's.
  llvm::Constant* constant(llvm::Module& module, const void* address) const;
  /// Which places hold the same address, and which hold none: code may have been folded by that. Equal in every
  /// process.
  std::string print() const;

 private:
  enum class Field : uint8_t { kCode, kBoxed, kFunctor, kOperator, kCalls, kGuardMisses, kMisses, kLoop };
  struct Place {
    Field field;
    int slot;  // of the table's fields; those of inner chains are counted on behind. Of loops: the kind of operands
    const void* address;
  };
  static std::string nameOf(const Place& place);
  void addTable(const Chain& chain, int first);
  void add(Field field, int slot, const void* address);

  std::vector<Place> places_;
  llvm::DenseMap<const void*, uint32_t> first_;  // the first place of an address
};

}  // namespace shunt::jit
