// The rules for kernels' bitcode: nothing in it may make results differ between machines or from the loops ahead of
// time.
#include "tools/kernel_lint/math_names.h"
#include "tools/kernel_lint/rules.h"

#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Operator.h>

namespace shunt::lint {
namespace {

std::string place(const llvm::Module& module, const llvm::Function* function) {
  std::string text = module.getSourceFileName();
  if (function) text += ": " + llvm::demangle(function->getName().str());
  return text;
}

void checkCalls(const llvm::Function& function, Findings& findings) {
  llvm::SmallSetVector<const llvm::Function*, 8> callees;
  for (const llvm::Instruction& instruction : llvm::instructions(function)) {
    for (const llvm::Value* operand : instruction.operand_values()) {
      if (const auto* callee = llvm::dyn_cast<llvm::Function>(operand->stripPointerCasts())) callees.insert(callee);
    }
  }
  for (const llvm::Function* callee : callees) {
    const std::string name = callee->getName().str();
    if (callee->getIntrinsicID() == llvm::Intrinsic::fmuladd) {
      findings.push_back({place(*function.getParent(), &function),
                          name + " lets the compiler choose whether to fuse: compile with -ffp-contract=off, write "
                                 "__builtin_fma where a fused operation is meant"});
    } else if (callee->isIntrinsic() ? isInexactIntrinsic(*callee) : isMathFunction(name)) {
      findings.push_back({place(*function.getParent(), &function),
                          "uses " + name + ", which LLVM may fold or replace with other bits: use shunt::math"});
    }
  }
}

void checkFastMath(const llvm::Function& function, Findings& findings) {
  for (const llvm::Instruction& instruction : llvm::instructions(function)) {
    if (!llvm::isa<llvm::FPMathOperator>(instruction) || !instruction.getFastMathFlags().any()) continue;
    std::string text;
    llvm::raw_string_ostream out(text);
    instruction.print(out);
    findings.push_back({place(*function.getParent(), &function), "has fast-math flags:" + text});
    return;  // one a function is enough to find the cause
  }
  for (const char* attribute :
       {"unsafe-fp-math", "no-nans-fp-math", "no-infs-fp-math", "no-signed-zeros-fp-math", "approx-func-fp-math"}) {
    if (function.getFnAttribute(attribute).getValueAsString() != "true") continue;
    findings.push_back({place(*function.getParent(), &function), std::string("is compiled with ") + attribute});
  }
}

// Runs once when the library is loaded and is never part of a thunk, so it may fill in registrations.
bool isStaticInitialiser(const llvm::Function& function) {
  return function.getName().starts_with("_GLOBAL__") || function.getName().starts_with("__cxx_global") ||
         function.getSection() == ".text.startup";
}

bool isMutableState(const llvm::GlobalVariable& variable) {
  return !variable.isDeclaration() && !variable.isConstant();
}

// Every global variable that `function` can name, also by way of constants; and functions, into `functions`.
llvm::SmallSetVector<const llvm::GlobalVariable*, 8> reachableVariables(
    const llvm::Function& function, llvm::SmallSetVector<const llvm::Function*, 8>* functions = nullptr) {
  llvm::SmallSetVector<const llvm::GlobalVariable*, 8> variables;
  llvm::SmallPtrSet<const llvm::Constant*, 32> seen;
  llvm::SmallVector<const llvm::Constant*, 32> queue;
  const auto visit = [&](const llvm::Value* value) {
    const auto* constant = llvm::dyn_cast_or_null<llvm::Constant>(value);
    if (const auto* named = llvm::dyn_cast_or_null<llvm::Function>(value); named && functions) functions->insert(named);
    if (constant && !llvm::isa<llvm::Function>(constant) && seen.insert(constant).second) queue.push_back(constant);
  };
  for (const llvm::Instruction& instruction : llvm::instructions(function)) {
    for (const llvm::Value* operand : instruction.operand_values()) visit(operand);
  }
  while (!queue.empty()) {
    const llvm::Constant* constant = queue.pop_back_val();
    if (const auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(constant)) variables.insert(variable);
    for (const llvm::Value* operand : constant->operand_values()) visit(operand);
  }
  return variables;
}

void checkState(const llvm::Function& function, Findings& findings) {
  if (isStaticInitialiser(function)) return;
  for (const llvm::GlobalVariable* variable : reachableVariables(function)) {
    if (!isMutableState(*variable)) continue;
    const std::string name = llvm::demangle(variable->getName().str());
    findings.push_back({place(*function.getParent(), &function),
                        "reaches the mutable " +
                            std::string(variable->isThreadLocal() ? "thread_local " : "variable ") + name +
                            ", which a thunk would duplicate: make it constant, or define it in a source file "
                            "outside kernels and declare it extern here"});
  }
}

void checkAssembler(const llvm::Module& module, Findings& findings) {
  if (module.getModuleInlineAsm().empty()) return;
  findings.push_back({place(module, nullptr), "has assembler at file scope, which can't be extracted"});
}

void checkFunction(const llvm::Function& function, Findings& findings) {
  checkCalls(function, findings);
  checkFastMath(function, findings);
  checkState(function, findings);
}

// What a dispatch table calls: shunt/core/boxing.h.
bool isKernelEntry(const llvm::Function& function) {
  const llvm::StringRef name = function.getName();
  return (name.starts_with("_ZN5shunt6boxing12StaticKernelI") ||
          name.starts_with("_ZN5shunt6boxing13FunctorKernelI")) &&
         name.contains("E4callEP");
}

}  // namespace

void checkModule(const llvm::Module& module, Findings& findings) {
  checkAssembler(module, findings);
  for (const llvm::Function& function : module) {
    if (!function.isDeclaration()) checkFunction(function, findings);
  }
}

void checkOwnModule(const llvm::Module& module, Findings& findings) {
  checkAssembler(module, findings);
  llvm::SmallSetVector<const llvm::Function*, 8> reached;
  for (const llvm::Function& function : module) {
    if (!function.isDeclaration() && isKernelEntry(function)) reached.insert(&function);
  }
  for (const llvm::Function& function : module) {
    const bool has_kernels = !reached.empty() && isKernelEntry(*reached.front());
    if (!has_kernels && function.hasExternalLinkage() && !function.isDeclaration() && !isStaticInitialiser(function))
      reached.insert(&function);
  }
  for (size_t i = 0; i < reached.size(); ++i) {
    if (!reached[i]->isDeclaration()) reachableVariables(*reached[i], &reached);
  }
  for (const llvm::Function* function : reached) {
    if (!function->isDeclaration()) checkFunction(*function, findings);
  }
}

}  // namespace shunt::lint
