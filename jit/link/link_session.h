// The session that compiled code is linked in: LLVM's ORC, over the slabs. One for the process, never destroyed.
//
// Note [One session]
// An ExecutionSession with one JITDylib and an ObjectLinkingLayer. Each linked object has a ResourceTracker; removing
// that frees the object's block. ORC sees one symbol of an object, "code.<n>": all others are made local, and what the
// object needs from outside is bound in its link graph before ORC gets it. A "plan:" name means another address in each
// object, a thunk's debug name is not unique, and a dylib for each thunk would take more memory than its code does.
//
// ORC has locks of its own, and asks for memory while it holds them. Three rules follow:
//   1. Every call of ORC is made under `mutex_`, and no call of the dynamic linker is: a thread that unloads a library
//      holds the loader's lock when it frees thunks. So symbols are looked up before.
//   2. fork() holds `mutex_`: no lock of ORC's is another thread's in the child. It is taken before the slabs' and the
//      unwinder's, as a link does (jit/fork.h).
//   3. Where memory runs out in ORC, an exception or a jump (jit/host/fatal_errors.h) leaves it with its locks taken.
//      That Orc is given up: it is never called nor destroyed again, the next link makes a new one, and code that was
//      linked with the old one is freed without it.
// Any thread may call. Nobody may be in code that is removed.
#pragma once

#include "jit/link/code_slab.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/ExecutionEngine/JITLink/JITLink.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace llvm::orc {
class ResourceTracker;
}

namespace shunt::jit {

/// Where an object's sections were placed, by name.
using SectionAddresses = llvm::SmallVector<std::pair<std::string, uint64_t>, 0>;

/// The linker could not go on: a try again would fail again, and leave as much memory behind.
class FatalLinkError : public llvm::ErrorInfo<FatalLinkError, llvm::StringError> {
 public:
  static char ID;  // NOLINT: LLVM's name
  using ErrorInfo::ErrorInfo;
};

/// What an object calls the pointer to the personality function.
inline constexpr llvm::StringLiteral kPersonalityPointer = "DW.ref.__gxx_personality_v0";

struct LinkedFunction {
  std::string name;
  uint64_t address;
  uint64_t size;
};

class LinkSession {
 public:
  class Orc;
  /// An object in memory. Its unwind tables are not registered.
  struct Code {
    CodeBlock block;
    uint64_t frames = 0;  // its .eh_frame, 0 for none
    llvm::SmallVector<LinkedFunction, 1> functions;
    Orc* orc = nullptr;                             // with which it was linked; compared, and no more
    llvm::orc::ResourceTracker* tracker = nullptr;  // a reference, given back by remove()
  };

  static LinkSession& instance();

  /// Places a graph whose symbols from outside are absolute, but for the pointer to the personality, which is the
  /// slab's. `sections`, unless null, gets the sections' addresses.
  llvm::Expected<Code> link(std::unique_ptr<llvm::jitlink::LinkGraph> graph, SectionAddresses* sections);
  void remove(const Code& code) noexcept;

  /// How many Orcs were given up; for tests.
  size_t givenUp();

  void beforeFork() { mutex_.lock(); }
  void afterFork() { mutex_.unlock(); }

 private:
  LinkSession() = default;
  void giveUpLocked();

  std::mutex mutex_;
  Orc* orc_ = nullptr;  // guarded by mutex_, as all below; null until the first link, and after giving up
  size_t given_up_ = 0;
};

}  // namespace shunt::jit
