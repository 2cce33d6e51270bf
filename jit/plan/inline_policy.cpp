#include "jit/plan/inline_policy.h"

#include "jit/host/library_symbols.h"

namespace shunt::jit {
namespace {

// Enough for a chain of wrappers and a loop; a plan that wants more gets calls.
constexpr size_t kMaxInstructions = 20000;
// Larger ones are worth a call; kernels that may have a loop to specialise less soon.
constexpr size_t kSmallFunction = 60;
constexpr size_t kSmallKernel = 60;
constexpr size_t kLoopKernel = 300;
constexpr size_t kCompositeKernel = 400;
// What inlined operators save, a few nanoseconds each, is not worth a compile several times as long.
constexpr size_t kRoomForChains = 900;
constexpr size_t kTooLarge = SIZE_MAX;

constexpr const char* kWrappers = "8wrappers";
constexpr const char* kKernels[] = {"6native", "6boxing"};

/// Of the form _ZN5shunt<rest>...
bool inNamespace(llvm::StringRef name, llvm::StringRef rest) {
  if (!name.consume_front("_ZN5shunt") && !name.consume_front("_ZNK5shunt")) return false;
  return name.starts_with(rest);
}

// What wrappers and kernels do at every call beside their own work; and of that, what is worth more code.
constexpr const char* kRuntime[] = {"11elementwise", "6reduce", "8autograd"};
constexpr const char* kAlways[] = {"6detail13makeCpuTensor", "6detail13allocateBlock", "9keySetFor"};

/// Made of other operators and nothing else.
bool isComposite(const Step& step) { return step.entry.reason == EntryReason::kCompositeImplicit; }

}  // namespace

std::vector<std::string> namesThatArePolicy() {
  std::vector<std::string> names = {kWrappers};
  names.insert(names.end(), std::begin(kKernels), std::end(kKernels));
  names.insert(names.end(), std::begin(kRuntime), std::end(kRuntime));
  names.insert(names.end(), std::begin(kAlways), std::end(kAlways));
  for (std::string& name : names) name = "_ZN5shunt" + name;
  return names;
}

bool isGeneratedKernel(llvm::StringRef name) { return inNamespace(name, kWrappers); }

bool isChainFunction(llvm::StringRef name) {
  bool is_kernel = inNamespace(name, kWrappers);
  for (const char* prefix : kKernels) is_kernel |= inNamespace(name, prefix);
  return is_kernel || QualifiedName::parse(name);
}

bool InlinePolicy::wants(const llvm::Function& f, Extraction& extraction) const {
  const llvm::StringRef name = f.getName();
  if (refused_.contains(name.str()) || f.hasFnAttribute(llvm::Attribute::Cold) || !extraction.has(name)) return false;
  if (!hasRoom()) return false;
  for (const char* prefix : kAlways)
    if (inNamespace(name, prefix)) return true;
  bool ours = isChainFunction(name);
  for (const char* prefix : kRuntime) ours |= inNamespace(name, prefix);
  return ours && !f.hasFnAttribute(llvm::Attribute::NoInline) &&
         extraction.sizeOf(name).value_or(kTooLarge) <= kSmallFunction;
}

bool InlinePolicy::hasRoom() const { return instructions_ <= kMaxInstructions; }

bool InlinePolicy::hasRoomForChain(const llvm::Module& module) const {
  return hasRoom() && module.getInstructionCount() <= kRoomForChains;
}

bool InlinePolicy::wantsKernel(const llvm::Function& f, const Step& step, Extraction& extraction) const {
  if (f.hasFnAttribute(llvm::Attribute::NoInline) || f.hasFnAttribute(llvm::Attribute::Cold)) return false;
  if (isGeneratedKernel(f.getName())) return true;
  const size_t most = has_loop_ ? kLoopKernel : calls_operators_ && isComposite(step) ? kCompositeKernel : kSmallKernel;
  return extraction.sizeOf(f.getName()).value_or(kTooLarge) <= most;
}

void InlinePolicy::imported(llvm::Function& f) {
  instructions_ += f.getInstructionCount();
  for (const char* prefix : kAlways)
    if (inNamespace(f.getName(), prefix)) f.addFnAttr(llvm::Attribute::AlwaysInline);
  if (!f.hasFnAttribute(llvm::Attribute::NoInline)) f.addFnAttr(llvm::Attribute::InlineHint);
}

}  // namespace shunt::jit
