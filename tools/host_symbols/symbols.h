// What a set of objects says about its symbols, and which of them the kernels' bitcode may need at run time.
//
// No state; for one thread.
#pragma once

#include <llvm/ADT/StringMap.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/Error.h>

#include <string>

namespace shunt::host_symbols {

struct Symbol {
  bool wanted = false;   // defined or used by an object with bitcode, or by the bitcode itself
  bool defined = false;  // in one of the objects
  bool exported = true;  // by visibility: no object hides it
  bool thread_local_ = false;
  std::string annotation;  // Note [Annotated functions] (shunt/core/annotate.h); empty: none
};

/// Sorted when written, not here.
using Symbols = llvm::StringMap<Symbol>;

/// Adds the global symbols of an object. `kernel`: it has section shunt_bc, and what it names is wanted.
llvm::Error addObject(const llvm::object::ObjectFile& object, bool kernel, Symbols& symbols);

/// Adds the annotations of a unit's functions; an error where two units disagree about one.
llvm::Error addAnnotations(llvm::MemoryBufferRef bitcode, Symbols& symbols);

/// The table as assembler source (jit/host/host_symbol_table.h).
std::string writeAssembler(const Symbols& symbols);

}  // namespace shunt::host_symbols
