// Constants that compiled code may give away by address, kept for the life of the process.
//
// A message, a name or a table that a thunk passes to the host may be remembered there, and the thunk be freed. So such
// constants lie here, one copy of each content for all thunks; there are only as many as the bitcode has. Any thread.
#pragma once

#include <llvm/ADT/StringRef.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shunt::jit {

/// A constant without an address in it: what it points to is named, so it means the same in every process.
struct Literal {
  struct Pointer {
    uint32_t offset = 0;
    uint64_t addend = 0;
    std::string symbol;  // another literal's, or one of the host's
    bool operator==(const Pointer&) const = default;
  };
  std::string bytes;  // zero where its pointers are
  uint64_t alignment = 16;
  std::string identity;  // keeps apart equal constants whose addresses may be compared
  std::vector<Pointer> pointers;
  bool operator==(const Literal&) const = default;
};

namespace literals {

/// Begins the symbols of interned constants.
inline constexpr llvm::StringLiteral kPrefix = "literal:";

/// The constant's symbol; "" where something that it points to is not known, or beyond its end.
std::string intern(const Literal& literal);
/// Where it is; nothing for a name that intern() never returned.
std::optional<uint64_t> address(llvm::StringRef symbol);
/// What it is; nothing for a name that intern() never returned.
std::optional<Literal> find(llvm::StringRef symbol);

}  // namespace literals
}  // namespace shunt::jit
