#include "tests/jit/util.h"

#include "jit/emit/optimise.h"
#include "jit/fork.h"
#include "jit/host/host_target.h"

#include <llvm/AsmParser/Parser.h>
#include <llvm/Support/SourceMgr.h>

#include <unistd.h>

#include <fstream>
#include <sstream>

namespace shunt::jit::test {
namespace {
// As the provider does before anybody has it.
[[maybe_unused]] const bool at_load = (holdLocksAcrossFork(), true);
}  // namespace

TextModule::TextModule(const std::string& text) : context(std::make_unique<llvm::LLVMContext>()) {
  llvm::SMDiagnostic diagnostic;
  module = llvm::parseAssemblyString(text, diagnostic, *context);
  if (!module) throw std::runtime_error(diagnostic.getMessage().str() + ": " + diagnostic.getLineContents().str());
  HostTarget::instance().prepare(*module);
  for (llvm::Function& function : *module) {
    if (!function.isDeclaration()) HostTarget::instance().prepare(function);
  }
}

void must(llvm::Error error) {
  if (error) throw std::runtime_error(llvm::toString(std::move(error)));
}

std::unique_ptr<llvm::MemoryBuffer> compileText(const std::string& text) {
  TextModule source(text);
  const Effort effort = must(optimise(*source.module));
  return must(generate(*source.module, effort));
}

std::unique_ptr<llvm::MemoryBuffer> copyOf(const llvm::MemoryBuffer& object) {
  return llvm::MemoryBuffer::getMemBufferCopy(object.getBuffer(), object.getBufferIdentifier());
}

std::vector<Mapping> mappings() {
  std::vector<Mapping> all;
  std::ifstream file("/proc/self/maps");
  for (std::string line; std::getline(file, line);) {
    std::istringstream in(line);
    Mapping m;
    std::string range, offset, device, inode;
    in >> range >> m.permissions >> offset >> device >> inode >> m.name;
    std::sscanf(range.c_str(), "%lx-%lx", &m.begin, &m.end);
    all.push_back(std::move(m));
  }
  return all;
}

size_t residentBytes() {
  size_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

std::string constantFunction(const std::string& name, int value) {
  return "define i32 @" + name + "() uwtable { ret i32 " + std::to_string(value) + " }\n";
}

}  // namespace shunt::jit::test
