// kernel_lint: refuses kernel objects that break the rules of rules.h. Exit status 0 clean, 1 findings, 2 bad input.
#include "tools/bitcode/bitcode_section.h"
#include "tools/kernel_lint/rules.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>

namespace {

namespace cl = llvm::cl;
cl::OptionCategory category("kernel_lint");
cl::list<std::string> bitcodeFiles("bitcode", cl::desc("object or library with section shunt_bc"), cl::cat(category));
cl::list<std::string> ownFiles("own", cl::desc("object with section shunt_bc and registrations of its own"),
                               cl::cat(category));
cl::list<std::string> isaFiles("isa", cl::desc("object compiled for one instruction set"), cl::cat(category));
cl::list<std::string> bitcodeLists("bitcode-list", cl::desc("file with one --bitcode a line"), cl::cat(category));
cl::list<std::string> isaLists("isa-list", cl::desc("file with one --isa a line"), cl::cat(category));

llvm::Error addLines(const std::string& path, cl::list<std::string>& files) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer) return llvm::createStringError(buffer.getError(), "can't read %s", path.c_str());
  llvm::SmallVector<llvm::StringRef> lines;
  (*buffer)->getBuffer().split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef line : lines) files.push_back(line.str());
  return llvm::Error::success();
}

using CheckModule = void (*)(const llvm::Module&, shunt::lint::Findings&);

llvm::Error checkBitcodeFile(const std::string& path, CheckModule check, shunt::lint::Findings& findings,
                             size_t& modules) {
  auto object = llvm::object::ObjectFile::createObjectFile(path);
  if (!object) return object.takeError();
  auto section = shunt::bitcode::findSection(*object->getBinary());
  if (!section) return section.takeError();
  auto parts = shunt::bitcode::splitModules(*section);
  if (!parts) return parts.takeError();
  for (llvm::StringRef part : *parts) {
    llvm::LLVMContext context;
    auto module = llvm::parseBitcodeFile(llvm::MemoryBufferRef(part, path), context);
    if (!module) return module.takeError();
    check(**module, findings);
    ++modules;
  }
  return llvm::Error::success();
}

llvm::Error checkIsaFile(const std::string& path, shunt::lint::Findings& findings) {
  auto object = llvm::object::ObjectFile::createObjectFile(path);
  if (!object) return object.takeError();
  shunt::lint::checkIsaObject(*object->getBinary(), findings);
  return llvm::Error::success();
}

llvm::Error checkAll(shunt::lint::Findings& findings, size_t& modules) {
  for (const std::string& path : bitcodeLists) {
    if (llvm::Error error = addLines(path, bitcodeFiles)) return error;
  }
  for (const std::string& path : isaLists) {
    if (llvm::Error error = addLines(path, isaFiles)) return error;
  }
  for (const std::string& path : bitcodeFiles) {
    if (llvm::Error error = checkBitcodeFile(path, shunt::lint::checkModule, findings, modules))
      return llvm::createFileError(path, std::move(error));
  }
  for (const std::string& path : ownFiles) {
    if (llvm::Error error = checkBitcodeFile(path, shunt::lint::checkOwnModule, findings, modules))
      return llvm::createFileError(path, std::move(error));
  }
  for (const std::string& path : isaFiles) {
    if (llvm::Error error = checkIsaFile(path, findings)) return llvm::createFileError(path, std::move(error));
  }
  return llvm::Error::success();
}

}  // namespace

int main(int argc, char** argv) {
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, "Checks kernels' bitcode and objects\n");
  shunt::lint::Findings findings;
  size_t modules = 0;
  if (llvm::Error error = checkAll(findings, modules)) {
    llvm::errs() << "kernel_lint: " << llvm::toString(std::move(error)) << '\n';
    return 2;
  }
  for (const shunt::lint::Finding& finding : findings) {
    llvm::errs() << finding.where << ": " << finding.what << '\n';
  }
  if (!findings.empty()) {
    llvm::errs() << "kernel_lint: " << findings.size() << " violations\n";
    return 1;
  }
  llvm::outs() << "kernel_lint: " << modules << " units of bitcode, " << isaFiles.size() << " objects: clean\n";
  return 0;
}
