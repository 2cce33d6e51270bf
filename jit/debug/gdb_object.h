// SHUNT_JIT_GDB=1: thunks in gdb, by the interface that it documents under "JIT Compilation Interface". gdb reads the
// object file from our memory: names for backtraces and breakpoints, and how to unwind.
//
// A GdbObject is registered for as long as it lives; it goes before the code it describes. Any thread; one lock around
// gdb's list.
#pragma once

#include "jit/link/linker.h"

#include <llvm/ADT/SmallVector.h>

#include <memory>

namespace shunt::jit {

class GdbObject {
 public:
  GdbObject();
  /// Registers a copy of the object that says where its sections are; nothing where it is no 64-bit ELF object.
  GdbObject(llvm::StringRef object, const SectionAddresses& sections);
  GdbObject(GdbObject&&) noexcept;
  GdbObject& operator=(GdbObject&& other) noexcept {
    entry_.swap(other.entry_);
    return *this;
  }
  ~GdbObject();

 private:
  struct Entry;
  std::unique_ptr<Entry> entry_;  // null: nothing registered
};

/// A child drops thunks too, and must not find the list's lock taken by a thread that it doesn't have; for jit/fork.h.
namespace gdb {
void beforeFork();
void afterFork();
}  // namespace gdb

}  // namespace shunt::jit
