// The bitcode that compiles were made of, kept for the next ones: a context, the units read into it, and what was found
// out about them. Reading costs several times what a copy of a function does.
//
// One thread at a time; a module made by an Extraction lives in the context and dies first. A context also keeps the
// types and constants of modules that are gone (6 KB a thunk), so whoever compiles for long takes a new one now and
// then. Of libraries other than the first, units are kept for one compile only: the library may go, and its bitcode
// with it.
#pragma once

#include "jit/bitcode/libraries.h"
#include "jit/bitcode/source_unit.h"

#include <map>

namespace shunt::jit {

class SourceCache {
 public:
  SourceCache(const Library& library, const HostSymbols& host);

  /// While it lives, a cache has the bitcode of other libraries as well.
  class Loan {
   public:
    Loan(SourceCache& cache, const Libraries& libraries);
    ~Loan();
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;

   private:
    SourceCache& cache_;
  };

  llvm::LLVMContext& context() { return context_; }
  /// Whether there is bitcode of the function `name`, which may be qualified.
  bool has(llvm::StringRef name) const;
  /// How names of the first library are bound.
  Binding& binding() { return own_.binding; }
  /// A unit that defines `name`: one that was read already, where there is a choice.
  llvm::Expected<SourceUnit*> unitFor(llvm::StringRef name);

 private:
  struct Source {
    const Library& library;
    Binding binding;
    std::map<uint32_t, std::unique_ptr<SourceUnit>> units = {};
  };
  const Source* sourceOf(llvm::StringRef& name) const;

  const HostSymbols& host_;
  llvm::LLVMContext context_;
  Source own_;
  std::map<uint64_t, Source> lent_;  // by the library's number
};

}  // namespace shunt::jit
