#include "jit/emit/inline_policy.h"

#include "jit/bitcode/library.h"

namespace shunt::jit {
namespace {

// Enough for a chain of wrappers and a loop; a plan that wants more gets calls.
constexpr size_t kMaxInstructions = 20000;
// Larger ones are worth a call.
constexpr size_t kLargeFunction = 400;

/// Of the form _ZN5shunt<rest>...
bool inNamespace(llvm::StringRef name, llvm::StringRef rest) {
  if (!name.consume_front("_ZN5shunt") && !name.consume_front("_ZNK5shunt")) return false;
  return name.starts_with(rest);
}

// What wrappers and kernels do at every call beside their own work; and of that, what is worth more code.
constexpr const char* kRuntime[] = {"6detail13makeCpuTensor", "11elementwise", "8autograd", "9keySetFor"};
constexpr const char* kAlways[] = {"6detail13makeCpuTensor", "9keySetFor"};

}  // namespace

bool isChainFunction(llvm::StringRef name) {
  return inNamespace(name, "8wrappers") || inNamespace(name, "6native") || inNamespace(name, "6boxing");
}

bool InlinePolicy::wants(const llvm::Function& f) const {
  const llvm::StringRef name = f.getName();
  if (refused_.contains(name.str()) || f.hasFnAttribute(llvm::Attribute::Cold) || !Library::host().has(name)) return false;
  if (instructions_ > kMaxInstructions) return false;
  if (isChainFunction(name)) return true;
  for (const char* prefix : kRuntime)
    if (inNamespace(name, prefix)) return true;
  return false;
}

void InlinePolicy::imported(llvm::Function& f) {
  const size_t size = f.getInstructionCount();
  instructions_ += size;
  for (const char* prefix : kAlways)
    if (inNamespace(f.getName(), prefix)) f.addFnAttr(llvm::Attribute::AlwaysInline);
  if (size < kLargeFunction && !f.hasFnAttribute(llvm::Attribute::NoInline)) f.addFnAttr(llvm::Attribute::InlineHint);
}

}  // namespace shunt::jit
