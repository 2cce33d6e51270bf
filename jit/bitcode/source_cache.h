// The bitcode that compiles were made of, kept for the next ones: a context, the units read into it, and what was found out
// about them. Reading costs several times what a copy of a function does.
//
// One thread at a time; a module made by an Extraction lives in the context and dies first. A context also keeps the types
// and constants of modules that are gone (6 KB a thunk), so whoever compiles for long takes a new one now and then.
#pragma once

#include "jit/bitcode/source_unit.h"

#include <map>

namespace shunt::jit {

class SourceCache {
 public:
  SourceCache(const Library& library, const HostSymbols& host);

  llvm::LLVMContext& context() { return context_; }
  const Library& library() const { return library_; }
  Binding& binding() { return binding_; }
  /// A unit that defines `name`: one that was read already, where there is a choice.
  llvm::Expected<SourceUnit*> unitFor(llvm::StringRef name);

 private:
  const Library& library_;
  Binding binding_;
  llvm::LLVMContext context_;
  std::map<uint32_t, std::unique_ptr<SourceUnit>> units_;
};

}  // namespace shunt::jit
