#include "jit/host/host_target.h"

#include <shunt/core/isa.h>

#include <llvm/ADT/StringSet.h>
#include <llvm/IR/AttributeMask.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetOptions.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/X86TargetParser.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

namespace shunt::jit {
namespace {

// Its conversion flushes denormals, which the interpreter's does not.
constexpr const char* kUnusedFeature = "avx512bf16";

// What the functions of the bitcode say about the CPU and stack that they were compiled for.
constexpr const char* kReplacedAttributes[] = {"target-cpu",
                                               "target-features",
                                               "tune-cpu",
                                               "min-legal-vector-width",
                                               "prefer-vector-width",
                                               "probe-stack",
                                               "stack-protector-buffer-size"};

const llvm::Target& findTarget(const std::string& triple) {
  std::string message;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, message);
  if (target == nullptr) llvm::report_fatal_error(llvm::StringRef(message));  // built without X86: impossible
  return *target;
}

// What costs much and gains nothing here: addresses in our loops are a pointer and an index, which is one operand on
// x86, and our branches are guards, not conditional moves. And inner loops begin at multiples of 32 bytes (2^5): our
// smallest take a cycle a turn and fit in 32, but two if they lie in two cache lines (at 48 of 64: 72 ns instead of 38
// for 1,024 floats with AVX2 on Zen 4).
//
// Without those of the second group code generation takes 14 % less time. The 441 thunks of a run of diff_test take the
// same space, and of 18 calls that were timed none got slower by more than 2 %.
constexpr std::pair<const char*, const char*> kCodegenSwitches[] = {
    {"disable-lsr", "true"},
    {"x86-cmov-converter", "false"},
    {"x86-experimental-pref-innermost-loop-alignment", "5"},

    {"disable-constant-hoisting", "true"},
    {"disable-early-taildup", "true"},
    {"disable-machine-sink", "true"},
    {"disable-mergeicmps", "true"},
    {"disable-partial-libcall-inlining", "true"},
    {"disable-postra-machine-licm", "true"},
    {"disable-postra-machine-sink", "true"},
    {"disable-x86-domain-reassignment", "true"},
    {"enable-misched", "false"},
    {"x86-early-ifcvt", "false"},
    // Not of code generation: what inlining writes about arguments that don't alias, which nothing here makes use of.
    {"enable-noalias-to-md-conversion", "false"},
};

void setCodegenSwitches() {
  const llvm::StringMap<llvm::cl::Option*>& options = llvm::cl::getRegisteredOptions();
  for (const auto& [name, value] : kCodegenSwitches)
    if (const auto it = options.find(name); it != options.end() && it->second->getNumOccurrences() == 0)
      it->second->addOccurrence(0, name, value);
}

/// The names of this CPU's features, or of those that the level has which SHUNT_ISA asks for.
llvm::StringSet<> usedFeatures() {
  const Isa level = shunt::detail::activeIsa();
  llvm::StringMap<bool> allowed;
  llvm::StringSet<> used;
  if (level != shunt::detail::bestIsa()) {
    llvm::SmallVector<llvm::StringRef> names;
    llvm::X86::getFeaturesForCPU(level == Isa::kBaseline ? "x86-64" : "x86-64-v3", names);
    names.push_back("sse2");  // which is in every x86-64, and so not in the list
    for (const llvm::StringRef name : names) {
      allowed[name] = true;
      llvm::X86::updateImpliedFeatures(name, /*Enabled=*/true, allowed);  // the list leaves those out
    }
  }
  for (const auto& feature : llvm::sys::getHostCPUFeatures()) {
    const llvm::StringRef name = feature.getKey();
    if (feature.getValue() && name != kUnusedFeature && (allowed.empty() || allowed.contains(name))) used.insert(name);
  }
  return used;
}

}  // namespace

struct HostTarget::Pool {
  std::mutex mutex;
  std::vector<std::unique_ptr<llvm::TargetMachine>> idle;  // guarded by mutex
};

HostTarget::HostTarget() : triple_("x86_64-unknown-linux-gnu"), pool_(new Pool) {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  setCodegenSwitches();
  const llvm::StringSet<> features = usedFeatures();
  std::vector<std::string> names;
  for (const auto& feature : features) names.push_back("+" + feature.getKey().str());
  std::sort(names.begin(), names.end());  // the set's order is not the same in every process
  for (const std::string& name : names) features_ += (features_.empty() ? "" : ",") + name;
  if (features.contains("avx512f") && features.contains("avx512vl"))
    vector_width_ = 512;
  else if (features.contains("avx2"))
    vector_width_ = 256;
  layout_ = std::unique_ptr<llvm::TargetMachine>(newMachine(llvm::CodeGenOptLevel::Default))
                ->createDataLayout()
                .getStringRepresentation();
}

const HostTarget& HostTarget::instance() {
  // Not a static object's initialiser: a fatal error of LLVM would jump out of it and leave it half made for good.
  static std::atomic<const HostTarget*> made{nullptr};
  if (const HostTarget* target = made.load(std::memory_order_acquire)) return *target;
  const HostTarget *mine = new HostTarget, *first = nullptr;  // never destroyed, nor one that came second
  return made.compare_exchange_strong(first, mine, std::memory_order_acq_rel) ? *mine : *first;
}

HostTarget::Machine HostTarget::makeMachine() const {
  {
    std::lock_guard lock(pool_->mutex);
    if (!pool_->idle.empty()) {
      llvm::TargetMachine* machine = pool_->idle.back().release();
      pool_->idle.pop_back();
      return Machine(machine);
    }
  }
  return Machine(newMachine(llvm::CodeGenOptLevel::Default));
}

std::unique_ptr<llvm::TargetMachine> HostTarget::makeCodegenMachine(llvm::CodeGenOptLevel level, bool fast) const {
  std::unique_ptr<llvm::TargetMachine> machine(newMachine(level));
  machine->setFastISel(fast);
  return machine;
}

void HostTarget::GiveBack::operator()(llvm::TargetMachine* machine) const {
  std::unique_ptr<llvm::TargetMachine> owned(machine);
  Pool& pool = *instance().pool_;
  std::lock_guard lock(pool.mutex);
  pool.idle.push_back(std::move(owned));
}

llvm::TargetMachine* HostTarget::newMachine(llvm::CodeGenOptLevel level) const {
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  options.ExceptionModel = llvm::ExceptionHandling::DwarfCFI;
  options.EmulatedTLS = false;
  return findTarget(triple_).createTargetMachine(triple_, /*CPU=*/"", features_, options, llvm::Reloc::PIC_,
                                                 llvm::CodeModel::Small, level, /*JIT=*/true);
}

void HostTarget::prepare(llvm::Module& module) const {
  module.setTargetTriple(triple_);
  module.setDataLayout(layout_);
}

void HostTarget::prepare(llvm::Function& function) const {
  // All at once: every list of attributes in between would be made and kept in the context.
  llvm::AttributeMask replaced;
  for (const char* attribute : kReplacedAttributes) replaced.addAttribute(attribute);
  llvm::AttrBuilder added(function.getContext());
  added.addAttribute("target-features", features_);
  added.addAttribute("prefer-vector-width", std::to_string(vector_width_));
  // A frame of more than a page mustn't jump over the guard page of its thread's stack.
  added.addAttribute("probe-stack", "inline-asm");
  added.addUWTableAttr(llvm::UWTableKind::Default);
  function.removeFnAttrs(replaced);
  function.addFnAttrs(added);
}

}  // namespace shunt::jit
