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

bool Binding::hostHas(llvm::StringRef name) const { return host_.address(std::string_view(name)).has_value(); }

std::string Binding::hostName(llvm::StringRef name) const {
  return library_.has(name) ? std::string(kHostPrefix) + name.str() : name.str();
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
    if (!local && host_.tls_offset(std::string_view(value.getName()))) return Address::kHost;
    why = "the thread-local " + readable(value) + " is not an external variable of the host";
    return Address::kRefused;
  }
  std::string inside;
  if (!isTypeData(value.getName()) && copyable(value, inside)) return Address::kCopy;
  if (!local && hostHas(value.getName())) return Address::kHost;
  why = !inside.empty() ? inside
                        : "the address of " + readable(value) +
                              (local ? ", which is internal," : "") + " would be one in the thunk";
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
  if (has_body && callee.hasLocalLinkage()) return Call::kBody;
  const bool host = !callee.hasLocalLinkage() && hostHas(callee.getName());
  if (has_body && callee.isDiscardableIfUnused() && !callee.isInterposable()) {
    if (!host) return Call::kBody;
    const bool stays = function->hasFnAttribute(llvm::Attribute::Cold) || function->hasFnAttribute(llvm::Attribute::NoInline);
    return stays ? Call::kDeclare : Call::kInline;
  }
  if (host || library_.has(callee.getName())) return Call::kDeclare;
  if (why != nullptr) *why = "it calls " + readable(callee) + ", which the host doesn't have";
  return Call::kRefused;
}

}  // namespace shunt::jit
