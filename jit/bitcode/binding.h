// Decides, for everything that a function refers to, whether it comes along, stays the host's, or forbids the import.
//
// Note [No pointer into a thunk] in extract.h is the rule. Answers are remembered by source value; one thread.
#pragma once

#include "jit/bitcode/library.h"
#include "jit/host/host_symbols.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/GlobalValue.h>

#include <string>
#include <unordered_map>

namespace shunt::jit {

class Binding {
 public:
  /// `base`: libshunt's own, for the plain names that another library's bitcode uses.
  Binding(const Library& library, const HostSymbols& host, const Binding* base = nullptr)
      : library_(library), host_(host), base_(base) {}

  /// Whether it is of libshunt's own bitcode.
  bool isOfHost() const { return library_.symbols() == nullptr; }

  enum class Address {
    kHost,     // a declaration of the host's symbol
    kCopy,     // a constant: its content comes along, bound to the host's where that has the symbol
    kRefused,  // there is nothing to bind to
  };
  /// How an address of `value` is given to compiled code; `why` is set where it is refused.
  Address address(const llvm::GlobalValue& value, std::string* why = nullptr);

  enum class Call {
    kDeclare,  // a declaration, for a later import or the host
    kInline,   // comes along if it can, the host's otherwise
    kBody,     // has to come along: the host has no symbol
    kRefused,
  };
  Call call(const llvm::GlobalValue& callee, std::string* why = nullptr);

  /// The name by which the host knows a value; "" where it doesn't.
  llvm::StringRef hostSymbol(const llvm::GlobalValue& value) const;
  /// The name by which a module speaks of a value that others may speak of too.
  std::string moduleName(const llvm::GlobalValue& value) const;
  /// The name under which a module speaks of the host's own function or variable `symbol`, apart from a body that it
  /// has.
  std::string hostName(llvm::StringRef symbol) const;

 private:
  bool isOwn(const llvm::GlobalValue& value) const;
  std::string findHostSymbol(const llvm::GlobalValue& value) const;
  Address decide(const llvm::GlobalValue& value, std::string& why);
  bool copyable(const llvm::GlobalValue& value, std::string& why);

  const Library& library_;
  const HostSymbols& host_;
  const Binding* const base_;
  struct Decision {
    Address address;
    std::string why;
  };
  llvm::DenseMap<const llvm::GlobalValue*, Decision> decisions_;
  mutable std::unordered_map<const llvm::GlobalValue*, std::string> host_symbols_;  // those that there are
};

}  // namespace shunt::jit
