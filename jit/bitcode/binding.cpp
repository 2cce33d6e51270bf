#include "jit/bitcode/binding.h"

#include "jit/bitcode/references.h"

#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/GlobalVariable.h>

namespace shunt::jit {
namespace {

// Objects and exceptions keep these for their lives, and they are compared by address.
bool isTypeData(llvm::StringRef name) {
  return name.starts_with("_ZTV") || name.starts_with("_ZTI") || name.starts_with("_ZTS") || name.starts_with("_ZTT") ||
         name.starts_with("_ZTC");
}

std::string readable(const llvm::GlobalValue& value) { return llvm::demangle(value.getName().str()); }

}  // namespace

// Another library's are its definitions, and what code of it without bitcode defines.
bool Binding::isOwn(const llvm::GlobalValue& value) const {
  return library_.symbols() != nullptr &&
         (!value.isDeclarationForLinker() || value.hasLocalLinkage() || library_.symbols()->defines(value.getName()));
}

std::string Binding::moduleName(const llvm::GlobalValue& value) const {
  return isOwn(value) ? (library_.prefix() + value.getName()).str() : value.getName().str();
}

// The same value is asked for by every function that calls it, in every compile. What the host doesn't have yet it may
// have later.
llvm::StringRef Binding::hostSymbol(const llvm::GlobalValue& value) const {
  if (isOfHost() && value.hasLocalLinkage()) return "";
  if (const auto known = host_symbols_.find(&value); known != host_symbols_.end()) return known->second;
  std::string name = findHostSymbol(value);
  return name.empty() ? "" : llvm::StringRef(host_symbols_[&value] = std::move(name));
}

std::string Binding::findHostSymbol(const llvm::GlobalValue& value) const {
  std::string name = moduleName(value);
  const auto address = host_.address(name);
  if (!address) return "";
  // What another library uses from elsewhere can't be what libshunt keeps to itself, nor another function than it was
  // bound to.
  if (base_ != nullptr && !isOwn(value) && (host_.isHidden(name) || !library_.symbols()->uses(name, *address)))
    return "";
  return name;
}

std::string Binding::hostName(llvm::StringRef symbol) const {
  const bool may_have_body =
      QualifiedName::parse(symbol) || (base_ != nullptr ? base_->library_ : library_).has(symbol);
  return may_have_body ? std::string(kHostPrefix) + symbol.str() : symbol.str();
}

// The content is known for good, and everything it points to can be bound.
bool Binding::copyable(const llvm::GlobalValue& value, std::string& why) {
  const auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(&value);
  if (variable == nullptr || !variable->isConstant() || !variable->hasDefinitiveInitializer()) return false;
  GlobalSet parts;
  if (!collectGlobals(*variable->getInitializer(), parts)) {
    why = readable(value) + " holds the address of a label";
    return false;
  }
  for (const llvm::GlobalValue* part : parts) {
    if (address(*part, &why) == Address::kRefused) return false;
  }
  return true;
}

Binding::Address Binding::decide(const llvm::GlobalValue& value, std::string& why) {
  const bool local = value.hasLocalLinkage();
  if (value.isThreadLocal()) {
    if (!local && !isOwn(value) && host_.tls_offset(std::string_view(value.getName()))) return Address::kHost;
    why = "the thread-local " + readable(value) + " is not an external variable of the host";
    return Address::kRefused;
  }
  std::string inside;
  if (!isTypeData(value.getName()) && copyable(value, inside)) return Address::kCopy;
  if (!hostSymbol(value).empty()) return Address::kHost;
  why = !inside.empty() ? inside
                        : "the address of " + readable(value) + (local ? ", which is internal," : "") +
                              " would be one in the thunk";
  return Address::kRefused;
}

Binding::Address Binding::address(const llvm::GlobalValue& value, std::string* why) {
  // Constants that point to each other: the first look decides, the inner ones take it for granted.
  const auto [entry, inserted] = decisions_.try_emplace(&value, Decision{Address::kCopy, {}});
  if (!inserted) {
    if (why != nullptr && entry->second.address == Address::kRefused) *why = entry->second.why;
    return entry->second.address;
  }
  Decision decision{Address::kRefused, {}};
  decision.address = decide(value, decision.why);
  if (why != nullptr && decision.address == Address::kRefused) *why = decision.why;
  return (decisions_[&value] = std::move(decision)).address;
}

Binding::Call Binding::call(const llvm::GlobalValue& callee, std::string* why) {
  const auto* function = llvm::dyn_cast<llvm::Function>(&callee);
  const bool has_body = function != nullptr && !function->isDeclaration() && !function->hasAvailableExternallyLinkage();
  const bool host = !hostSymbol(callee).empty();
  if (has_body && callee.hasLocalLinkage() && !host) return Call::kBody;
  if (has_body && callee.isDiscardableIfUnused() && !callee.isInterposable()) {
    if (!host) return Call::kBody;
    const bool stays =
        function->hasFnAttribute(llvm::Attribute::Cold) || function->hasFnAttribute(llvm::Attribute::NoInline);
    return stays ? Call::kDeclare : Call::kInline;
  }
  if (host || ((isOwn(callee) || base_ == nullptr) && library_.has(callee.getName()))) return Call::kDeclare;
  if (why != nullptr) *why = "it calls " + readable(callee) + ", which the host doesn't have";
  return Call::kRefused;
}

}  // namespace shunt::jit
