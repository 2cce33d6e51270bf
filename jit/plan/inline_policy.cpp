#include "jit/plan/inline_policy.h"

#include "jit/host/host_symbols.h"
#include "jit/host/library_symbols.h"

namespace shunt::jit {
namespace {

// Enough for a chain of wrappers and a loop; a plan that wants more gets calls.
constexpr size_t kMaxInstructions = 20000;
// Larger ones are worth a call; kernels that may have a loop to specialise less soon.
constexpr size_t kSmallFunction = 60;
constexpr size_t kSmallKernel = 60;
constexpr size_t kLoopKernel = 300;
constexpr size_t kCompositeKernel = 200;
// What inlined operators save, a few nanoseconds each, is not worth a compile several times as long: least in a kernel
// that does work of its own beside them.
constexpr size_t kRoomForChains = 400, kRoomInComposite = 750;
constexpr size_t kTooLarge = SIZE_MAX;

constexpr std::string_view kKernel = "kernel", kWrapper = "wrapper", kRuntime = "runtime";

std::string_view roleOf(llvm::StringRef symbol) { return HostSymbols::instance().annotation(std::string_view(symbol)); }

/// Made of other operators and nothing else.
bool isComposite(const Step& step) { return step.entry.reason == EntryReason::kCompositeImplicit; }

}  // namespace

InlinePolicy::InlinePolicy(const Plan& plan)
    : has_loop_(plan.expectsOperands()),
      calls_operators_(plan.inlinesOperators()),
      is_composite_(isComposite(plan.steps.back())) {}

std::vector<std::string> rolesOfPolicy() {
  return {std::string(kKernel), std::string(kWrapper), std::string(kRuntime)};
}

bool isGeneratedKernel(llvm::StringRef symbol) { return roleOf(symbol) == kWrapper; }

bool isChainFunction(llvm::StringRef symbol) {
  const std::string_view role = roleOf(symbol);
  return role == kWrapper || role == kKernel || QualifiedName::parse(symbol);
}

bool InlinePolicy::wants(const llvm::Function& f, Extraction& extraction) const {
  const llvm::StringRef name = f.getName();
  const std::string_view role = roleOf(name);
  if (role.empty() && !QualifiedName::parse(name)) return false;
  if (refused_.contains(name.str()) || f.hasFnAttribute(llvm::Attribute::Cold) || !extraction.has(name)) return false;
  if (!hasRoom()) return false;
  return (role == kRuntime || isChainFunction(name)) && !f.hasFnAttribute(llvm::Attribute::NoInline) &&
         extraction.sizeOf(name).value_or(kTooLarge) <= kSmallFunction;
}

bool InlinePolicy::hasRoom() const { return instructions_ <= kMaxInstructions; }

bool InlinePolicy::hasRoomForChain(const llvm::Module& module) const {
  return hasRoom() && module.getInstructionCount() <= (is_composite_ ? kRoomInComposite : kRoomForChains);
}

bool InlinePolicy::wantsKernel(const llvm::Function& f, const Step& step, Extraction& extraction) const {
  if (f.hasFnAttribute(llvm::Attribute::NoInline) || f.hasFnAttribute(llvm::Attribute::Cold)) return false;
  if (isGeneratedKernel(f.getName())) return true;
  const size_t most = has_loop_ ? kLoopKernel : calls_operators_ && isComposite(step) ? kCompositeKernel : kSmallKernel;
  return extraction.sizeOf(f.getName()).value_or(kTooLarge) <= most;
}

void InlinePolicy::imported(llvm::Function& f) {
  instructions_ += f.getInstructionCount();
  if (!f.hasFnAttribute(llvm::Attribute::NoInline)) f.addFnAttr(llvm::Attribute::InlineHint);
}

}  // namespace shunt::jit
