// The last step of optimise.h: machine code from an optimised module.
#include "jit/emit/optimise.h"
#include "jit/host/host_target.h"

#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>

namespace shunt::jit {
namespace {

// Code can't be written where it runs, so neither can its data.
llvm::Error checkNoWritableData(const llvm::Module& module) {
  for (const llvm::GlobalVariable& variable : module.globals()) {
    if (variable.isDeclaration() || variable.isConstant()) continue;
    return llvm::createStringError("the module defines the writable variable %s", variable.getName().str().c_str());
  }
  return llvm::Error::success();
}

}  // namespace

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> generate(llvm::Module& module) {
  if (llvm::Error error = checkNoWritableData(module)) return std::move(error);
  const HostTarget& target = HostTarget::instance();
  const HostTarget::Machine machine = target.makeMachine();
  llvm::SmallVector<char, 0> object;
  {
    llvm::raw_svector_ostream out(object);
    llvm::legacy::PassManager passes;
    llvm::TargetLibraryInfoImpl library{llvm::Triple(target.triple())};
    library.disableAllFunctions();
    passes.add(new llvm::TargetLibraryInfoWrapperPass(library));
    if (machine->addPassesToEmitFile(passes, out, nullptr, llvm::CodeGenFileType::ObjectFile, /*DisableVerify=*/true)) {
      return llvm::createStringError("LLVM can't write objects for this target");
    }
    passes.run(module);
  }
  return std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(object), module.getModuleIdentifier(),
                                                         /*RequiresNullTerminator=*/false);
}

}  // namespace shunt::jit
