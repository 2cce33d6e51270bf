// host_symbols: writes the table of the symbols that the kernels of a library define or use, as assembler source. Run
// between compiling and linking the library. Exit status 0 done, 2 bad input.
#include "tools/host_symbols/symbols.h"

#include <llvm/Support/CommandLine.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>

namespace {

namespace cl = llvm::cl;
cl::OptionCategory category("host_symbols");
cl::list<std::string> kernelLists("kernels", cl::desc("file with one object with bitcode a line"), cl::cat(category));
cl::list<std::string> otherLists("others", cl::desc("file with one further object of the library a line"),
                                 cl::cat(category));
cl::opt<std::string> outputPath("out", cl::desc("assembler source to write"), cl::Required, cl::cat(category));

llvm::Error addList(const std::string& list, bool kernel, shunt::host_symbols::Symbols& symbols) {
  auto buffer = llvm::MemoryBuffer::getFile(list, /*IsText=*/true);
  if (!buffer) return llvm::createFileError(list, buffer.getError());
  llvm::SmallVector<llvm::StringRef> lines;
  (*buffer)->getBuffer().split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef path : lines) {
    auto object = llvm::object::ObjectFile::createObjectFile(path);
    if (!object) return llvm::createFileError(path, object.takeError());
    if (llvm::Error error = shunt::host_symbols::addObject(*object->getBinary(), kernel, symbols)) {
      return llvm::createFileError(path, std::move(error));
    }
  }
  return llvm::Error::success();
}

llvm::Error write() {
  shunt::host_symbols::Symbols symbols;
  for (const std::string& list : kernelLists) {
    if (llvm::Error error = addList(list, true, symbols)) return error;
  }
  for (const std::string& list : otherLists) {
    if (llvm::Error error = addList(list, false, symbols)) return error;
  }
  std::error_code code;
  llvm::raw_fd_ostream out(outputPath, code);
  if (code) return llvm::createFileError(outputPath, code);
  out << shunt::host_symbols::writeAssembler(symbols);
  out.close();
  return out.has_error() ? llvm::createFileError(outputPath, out.error()) : llvm::Error::success();
}

}  // namespace

int main(int argc, char** argv) {
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, "Writes a library's symbol table for its compiler\n");
  if (llvm::Error error = write()) {
    llvm::errs() << "host_symbols: " << llvm::toString(std::move(error)) << '\n';
    return 2;
  }
  return 0;
}
