// Links object code into the process with JITLink alone: no ORC session, nothing global but the slabs and the unwinder.
//
// Any thread may link, and destroy a LinkedCode, at any time; one that is destroyed must not be running anywhere.
#pragma once

#include "jit/link/code_slab.h"

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/MemoryBuffer.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace shunt::jit {

/// Code in executable memory, registered with the unwinder. Its destructor takes both back.
class LinkedCode {
 public:
  LinkedCode() = default;
  LinkedCode(LinkedCode&& other) noexcept { swap(other); }
  LinkedCode& operator=(LinkedCode&& other) noexcept {
    LinkedCode(std::move(other)).swap(*this);
    return *this;
  }
  ~LinkedCode();

  explicit operator bool() const { return address_ != 0; }
  /// The address of a global function of the object; 0 if it has none of that name.
  uint64_t address(llvm::StringRef name) const;
  /// All functions, with their sizes.
  struct Function {
    std::string name;
    uint64_t address;
    uint64_t size;
  };
  llvm::ArrayRef<Function> functions() const { return functions_; }
  /// What it takes of the slab, constants and unwind tables too.
  size_t bytes() const { return bytes_; }

 private:
  friend class Link;
  void swap(LinkedCode& other) noexcept;

  CodeSlabs* slabs_ = nullptr;
  uint64_t address_ = 0;
  size_t bytes_ = 0;
  uint64_t frames_ = 0;  // its .eh_frame, 0 for none
  llvm::SmallVector<Function, 1> functions_;
};

/// Where an object's sections came to lie, by name.
using SectionAddresses = llvm::SmallVector<std::pair<std::string, uint64_t>, 0>;

using SymbolResolver = llvm::function_ref<std::optional<uint64_t>(llvm::StringRef)>;

/// Binds every undefined symbol of `object` by `resolve`; one without an answer is an error, and so is writable data.
/// `sections`, unless null, gets the sections' addresses.
llvm::Expected<LinkedCode> link(std::unique_ptr<llvm::MemoryBuffer> object, SymbolResolver resolve,
                                CodeSlabs& slabs = CodeSlabs::instance(), SectionAddresses* sections = nullptr);
/// The same with HostSymbols as the resolver.
llvm::Expected<LinkedCode> link(std::unique_ptr<llvm::MemoryBuffer> object, SectionAddresses* sections = nullptr);

}  // namespace shunt::jit
