#include "jit/emit/inline_policy.h"

#include "jit/bitcode/library.h"

namespace shunt::jit {
namespace {

// Enough for a chain of wrappers and a loop; a plan that wants more gets calls.
constexpr size_t kMaxInstructions = 20000;
// Larger ones are worth a call.
constexpr size_t kLargeFunction = 400;

/// Of the form _ZN5shunt<namespace>...: the sources that chains are made of.
bool inNamespace(llvm::StringRef name, llvm::StringRef ns) {
  if (!name.consume_front("_ZN5shunt")) {
    if (!name.consume_front("_ZNK5shunt")) return false;
  }
  return name.starts_with(ns);
}

bool isRedispatch(llvm::StringRef name) { return inNamespace(name, "3ops") && name.contains("10redispatchE"); }

}  // namespace

bool InlinePolicy::wants(const llvm::Function& f) const {
  const llvm::StringRef name = f.getName();
  if (refused_.contains(name.str()) || f.hasFnAttribute(llvm::Attribute::Cold) || !Library::host().has(name)) return false;
  if (isRedispatch(name)) return true;
  if (instructions_ > kMaxInstructions) return false;
  return inNamespace(name, "8wrappers") || inNamespace(name, "6native") || inNamespace(name, "6boxing");
}

void InlinePolicy::imported(llvm::Function& f) {
  const size_t size = f.getInstructionCount();
  instructions_ += size;
  if (isRedispatch(f.getName())) f.addFnAttr(llvm::Attribute::AlwaysInline);
  else if (size < kLargeFunction && !f.hasFnAttribute(llvm::Attribute::NoInline)) f.addFnAttr(llvm::Attribute::InlineHint);
}

}  // namespace shunt::jit
