#include "jit/emit/dump.h"

#include "jit/emit/codegen_passes.h"

#include <shunt/core/environment.h>
#include <shunt/core/log.h>

#include <llvm/ADT/SmallString.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <atomic>
#include <fstream>

namespace shunt::jit {
namespace {

namespace environment = shunt::detail::environment;

const std::string& directory() {
  static const std::string path = environment::directory<environment::Variable::kJitDump>();
  return path;
}

std::string asComments(const std::string& text) {
  std::string out = "# ";
  for (char c : text) out += c == '\n' ? std::string("\n# ") : std::string(1, c);
  return out + "\n";
}

}  // namespace

bool Dump::wanted() { return !directory().empty(); }

Dump::Dump(const Plan& plan) : Dump(plan.op.name, wanted() ? plan.print() : "") {}

Dump::Dump(const std::string& name, const std::string& plan) {
  if (directory().empty()) return;
  static std::atomic<int> number{0};
  base_ = directory() + "/" + std::to_string(number++) + "-" + name;
  for (char& c : base_)
    if (c == ':') c = '_';
  plan_ = plan;
  write(".plan", plan_);
}

void Dump::module(const llvm::Module& module, const char* stage) const {
  if (base_.empty()) return;
  std::string text;
  llvm::raw_string_ostream(text) << module;
  write(std::string(".") + stage + ".ll", text);
}

void Dump::assembly(const llvm::Module& module, Effort effort) const {
  if (base_.empty()) return;
  const auto copy = llvm::CloneModule(module);  // code generation changes its module
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream out(text);
  CodegenPasses passes(effort);
  const auto machine = codegenMachine(effort);
  if (machine->addPassesToEmitFile(passes, out, nullptr, llvm::CodeGenFileType::AssemblyFile)) return;
  passes.run(*copy);
  write(".s", asComments(plan_) + text.str().str());
}

void Dump::write(const std::string& suffix, const std::string& text) const {
  std::ofstream file(base_ + suffix);
  file << text;
  if (!file) shunt::detail::logWarning("SHUNT_JIT_DUMP: can't write " + base_ + suffix);
}

}  // namespace shunt::jit
