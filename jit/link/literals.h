// Constants that compiled code may give away by address, kept for the life of the process.
//
// A message, a name or a table that a thunk passes to the host may be remembered there, and the thunk be freed. So such
// constants lie here, one copy of each content for all thunks; there are only as many as the bitcode has. Any thread.
#pragma once

#include <llvm/ADT/StringRef.h>

#include <cstdint>
#include <optional>
#include <string>

namespace shunt::jit::literals {

/// Begins the symbols of interned constants.
inline constexpr llvm::StringLiteral kPrefix = "literal:";

/// The symbol of a constant with these bytes. `identity` keeps apart equal constants whose addresses may be compared.
std::string intern(llvm::StringRef bytes, uint64_t alignment, llvm::StringRef identity);
/// Where it is; nothing for a name that intern() never returned.
std::optional<uint64_t> address(llvm::StringRef symbol);

}  // namespace shunt::jit::literals
