// Links object code into the process: binds its symbols, places it by ORC (link_session.h), and registers its unwind
// tables.
//
// Any thread may link, and destroy a LinkedCode, at any time; one that is destroyed must not be running anywhere.
#pragma once

#include "jit/link/link_session.h"

#include <llvm/ADT/STLFunctionalExtras.h>
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
  using Function = LinkedFunction;

  LinkedCode() = default;
  LinkedCode(LinkedCode&& other) noexcept { swap(other); }
  LinkedCode& operator=(LinkedCode&& other) noexcept {
    LinkedCode(std::move(other)).swap(*this);
    return *this;
  }
  ~LinkedCode();

  explicit operator bool() const { return code_.block.address != 0; }
  /// The address of a function of the object; 0 if it has none of that name.
  uint64_t address(llvm::StringRef name) const;
  /// All functions, with their sizes.
  llvm::ArrayRef<Function> functions() const { return code_.functions; }
  /// What it takes of the slab, constants and unwind tables too.
  size_t bytes() const { return code_.block.size; }

 private:
  friend class Link;
  explicit LinkedCode(LinkSession::Code&& code) : code_(std::move(code)) {}
  void swap(LinkedCode& other) noexcept { std::swap(code_, other.code_); }

  LinkSession::Code code_;
};

using SymbolResolver = llvm::function_ref<std::optional<uint64_t>(llvm::StringRef)>;

/// Binds every undefined symbol of `object` by `resolve`; one without an answer is an error, and so is writable data.
/// `sections`, unless null, gets the sections' addresses.
llvm::Expected<LinkedCode> link(std::unique_ptr<llvm::MemoryBuffer> object, SymbolResolver resolve,
                                SectionAddresses* sections = nullptr);
/// The same with HostSymbols as the resolver.
llvm::Expected<LinkedCode> link(std::unique_ptr<llvm::MemoryBuffer> object, SectionAddresses* sections = nullptr);

}  // namespace shunt::jit
