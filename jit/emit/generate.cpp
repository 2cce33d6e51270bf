// The last step of optimise.h: machine code from an optimised module.
#include "jit/emit/codegen_passes.h"
#include "jit/emit/optimise.h"
#include "jit/host/host_target.h"

#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>

#include <mutex>
#include <utility>
#include <vector>

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

// The code generator's passes, set up once for many modules: that takes half a millisecond, and more to tear down. One
// run at a time.
class Generator {
 public:
  explicit Generator(Effort effort) : machine_(codegenMachine(effort)), passes_(effort) {}

  /// Null where LLVM can't write objects for the target.
  static std::unique_ptr<Generator> make(Effort effort) {
    auto made = std::make_unique<Generator>(effort);
    llvm::TargetLibraryInfoImpl library{llvm::Triple(HostTarget::instance().triple())};
    library.disableAllFunctions();
    made->passes_.add(new llvm::TargetLibraryInfoWrapperPass(library));
    const bool failed = made->machine_->addPassesToEmitFile(made->passes_, made->out_, nullptr,
                                                            llvm::CodeGenFileType::ObjectFile, /*DisableVerify=*/true);
    return failed ? nullptr : std::move(made);
  }

  llvm::SmallVector<char, 0> run(llvm::Module& module) {
    passes_.run(module);
    return std::exchange(object_, {});
  }

 private:
  const std::unique_ptr<llvm::TargetMachine> machine_;
  llvm::SmallVector<char, 0> object_;
  llvm::raw_svector_ostream out_{object_};
  CodegenPasses passes_;
};

// Those that no thread is using. A generator that an error leaves half-way in a module never comes back.
class Generators {
 public:
  static Generators& instance() {
    static auto* const made = new Generators;  // never destroyed: the compiler's thread may still be running
    return *made;
  }
  std::unique_ptr<Generator> take(Effort effort) {
    {
      std::lock_guard lock(mutex_);
      auto& idle = idle_[static_cast<size_t>(effort)];
      if (!idle.empty()) {
        auto taken = std::move(idle.back());
        idle.pop_back();
        return taken;
      }
    }
    return Generator::make(effort);
  }
  void giveBack(std::unique_ptr<Generator> generator, Effort effort) {
    std::lock_guard lock(mutex_);
    idle_[static_cast<size_t>(effort)].push_back(std::move(generator));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Generator>> idle_[kEfforts];  // by effort; guarded by mutex_
};

}  // namespace

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> generate(llvm::Module& module, Effort effort) {
  if (llvm::Error error = checkNoWritableData(module)) return std::move(error);
  auto generator = Generators::instance().take(effort);
  if (generator == nullptr) return llvm::createStringError("LLVM can't write objects for this target");
  llvm::SmallVector<char, 0> object = generator->run(module);
  Generators::instance().giveBack(std::move(generator), effort);
  return std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(object), module.getModuleIdentifier(),
                                                         /*RequiresNullTerminator=*/false);
}

}  // namespace shunt::jit
