// Reading section shunt_bc, where every kernel object keeps the thin bitcode it was compiled from.
//
// The linker concatenates the sections of all units, so a library's section is a row of complete bitcode files. Views
// returned here point into the section that the caller keeps alive. No state: any thread may call, on its own data.
#pragma once

#include <llvm/ADT/StringRef.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/Error.h>

#include <vector>

namespace shunt::bitcode {

inline constexpr llvm::StringLiteral kSectionName = "shunt_bc";

/// The contents of section shunt_bc; an error that says how to get one where there is none.
llvm::Expected<llvm::StringRef> findSection(const llvm::object::ObjectFile& object);

/// Cuts a section into its bitcode files. Zero words between them are the linker's padding. Fails on anything else that
/// is not bitcode, and names the offset.
llvm::Expected<std::vector<llvm::StringRef>> splitModules(llvm::StringRef section);

}  // namespace shunt::bitcode
