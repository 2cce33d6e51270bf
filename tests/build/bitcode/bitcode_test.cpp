// What the kernel recipe leaves in a linked library: whole units of unvectorised, uninstrumented bitcode, in one
// section that is loaded with the library, beside the machine code.
#include "tools/bitcode/bitcode_section.h"

#include <gtest/gtest.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>

#include <filesystem>
#include <set>
#include <string>

namespace {

using llvm::object::ObjectFile;
using llvm::object::OwningBinary;

class Library {
 public:
  explicit Library(const char* path) : object_(llvm::cantFail(ObjectFile::createObjectFile(path))) {
    section_ = llvm::cantFail(shunt::bitcode::findSection(*object_.getBinary()));
    for (llvm::StringRef part : llvm::cantFail(shunt::bitcode::splitModules(section_))) {
      modules_.push_back(llvm::cantFail(llvm::parseBitcodeFile(llvm::MemoryBufferRef(part, path), context_)));
    }
  }
  const ObjectFile& object() const { return *object_.getBinary(); }
  llvm::StringRef section() const { return section_; }
  const std::vector<std::unique_ptr<llvm::Module>>& modules() const { return modules_; }

  /// The definition whose demangled name starts with `name`, or null.
  const llvm::Function* find(const std::string& name) const {
    for (const auto& module : modules_) {
      for (const llvm::Function& function : *module) {
        if (function.isDeclaration()) continue;
        if (llvm::StringRef(llvm::demangle(function.getName().str())).starts_with(name)) return &function;
      }
    }
    return nullptr;
  }

 private:
  OwningBinary<ObjectFile> object_;
  llvm::StringRef section_;
  llvm::LLVMContext context_;
  std::vector<std::unique_ptr<llvm::Module>> modules_;
};

size_t countCalls(const llvm::Function& function, llvm::StringRef prefix) {
  size_t count = 0;
  for (const llvm::Instruction& instruction : llvm::instructions(function)) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    count += call && call->getCalledFunction() && call->getCalledFunction()->getName().starts_with(prefix);
  }
  return count;
}

bool hasVectors(const llvm::Function& function) {
  for (const llvm::Instruction& instruction : llvm::instructions(function)) {
    if (instruction.getType()->isVectorTy()) return true;
  }
  return false;
}

TEST(Bitcode, FixtureHoldsBothUnitsAndNoLoopOfAnInstructionSet) {
  const Library library(SHUNT_FIXTURE_FILE);
  EXPECT_EQ(library.modules().size(), 2u);
  EXPECT_NE(library.find("fixtureScale(float*"), nullptr);
  EXPECT_NE(library.find("fixtureSum(long const*"), nullptr);
  EXPECT_EQ(library.find("v4::fixtureLoop"), nullptr);
}

TEST(Bitcode, LoopsAreUnvectorisedAndUninstrumented) {
  const Library library(SHUNT_FIXTURE_FILE);
  const llvm::Function* scale = library.find("fixtureScale(float*");
  ASSERT_NE(scale, nullptr);
  EXPECT_FALSE(hasVectors(*scale));
  for (const char* prefix : {"__asan", "__tsan", "__ubsan"}) EXPECT_EQ(countCalls(*scale, prefix), 0u) << prefix;
  EXPECT_FALSE(scale->hasFnAttribute(llvm::Attribute::SanitizeThread));
  EXPECT_FALSE(scale->hasFnAttribute(llvm::Attribute::SanitizeAddress));
}

TEST(Bitcode, MachineCodeOfEachInstructionSetIsBesideIt) {
  const Library library(SHUNT_FIXTURE_FILE);
  const auto* elf = llvm::cast<llvm::object::ELFObjectFileBase>(&library.object());
  std::string symbols;
  for (const llvm::object::ELFSymbolRef symbol : elf->getDynamicSymbolIterators()) {
    symbols += llvm::demangle(llvm::cantFail(symbol.getName()).str()) + "\n";
  }
  for (const char* name : {"fixtureScale(float*", "baseline::fixtureLoop(", "v3::fixtureLoop(", "v4::fixtureLoop("}) {
    EXPECT_NE(symbols.find(name), std::string::npos) << name << " is not among\n" << symbols;
  }
}

TEST(Bitcode, SectionIsLoadedWithTheLibrary) {
  const Library library(SHUNT_FIXTURE_FILE);
  for (const llvm::object::ELFSectionRef section : library.object().sections()) {
    if (llvm::cantFail(section.getName()) != shunt::bitcode::kSectionName) continue;
    EXPECT_EQ(section.getFlags(), static_cast<uint64_t>(llvm::ELF::SHF_ALLOC)) << "loaded, and read-only";
  }
}

TEST(Bitcode, SplitterNamesTheOffsetOfForeignBytes) {
  const Library library(SHUNT_FIXTURE_FILE);
  std::string bytes = library.section().str();
  const size_t end = bytes.size();
  bytes += "garbage!";
  auto parts = shunt::bitcode::splitModules(bytes);
  ASSERT_FALSE(static_cast<bool>(parts));
  const std::string message = llvm::toString(parts.takeError());
  EXPECT_NE(message.find(std::to_string(end)), std::string::npos) << message;

  EXPECT_FALSE(llvm::errorToBool(shunt::bitcode::splitModules(std::string(8, '\0')).takeError()));
  auto truncated = shunt::bitcode::splitModules(library.section().drop_back(library.section().size() / 4));
  EXPECT_FALSE(static_cast<bool>(truncated));
  llvm::consumeError(truncated.takeError());
}

#ifdef SHUNT_KERNEL_LIST
TEST(Bitcode, LibshuntHoldsEveryKernelUnit) {
  const Library library(SHUNT_LIBRARY_FILE);
  auto list = llvm::MemoryBuffer::getFile(SHUNT_KERNEL_LIST, /*IsText=*/true);
  ASSERT_TRUE(static_cast<bool>(list)) << SHUNT_KERNEL_LIST;
  llvm::SmallVector<llvm::StringRef> objects;
  (*list)->getBuffer().split(objects, '\n', -1, /*KeepEmpty=*/false);
  EXPECT_EQ(library.modules().size(), objects.size());
}

TEST(Bitcode, LibshuntHoldsANamedKernelWithItsBody) {
  const Library library(SHUNT_LIBRARY_FILE);
  const llvm::Function* empty = library.find("shunt::native::empty_cpu(");
  ASSERT_NE(empty, nullptr);
  EXPECT_GT(empty->getInstructionCount(), 5u);
  EXPECT_EQ(library.find("shunt::native::no_such_kernel("), nullptr);
}

// A thunk inlines the whole chain of an operator, so each kind of function on a call's way is here with its body.
TEST(Bitcode, LibshuntHoldsEveryStepOfACall) {
  const Library library(SHUNT_LIBRARY_FILE);
  for (const char* name :
       {"shunt::ops::add_Tensor::call(", "shunt::ops::add_Tensor::redispatch(",
        "shunt::wrappers::inplace_or_view::mul__Tensor(", "shunt::wrappers::autograd_kernels::sub_Tensor(",
        "shunt::wrappers::autocast_CPU::addmm(", "shunt::wrappers::backend_select::empty_memory_format(",
        "shunt::wrappers::elementwise_kernels::sub_Tensor(", "shunt::native::linear(", "shunt::native::gelu(",
        "shunt::native::mm(", "shunt::native::_softmax_impl(", "shunt::wrappers::structured_CPU::_softmax(",
        "shunt::autograd::pow_backward(", "shunt::elementwise::runFunctional("}) {
    const llvm::Function* function = library.find(name);
    ASSERT_NE(function, nullptr) << name;
    EXPECT_GT(function->getInstructionCount(), 1u) << name;
  }
}

TEST(Bitcode, OnlySourcesWithStateAreWithoutBitcode) {
  // Registrations, records, choices made when the library is loaded, caches, what the machine is like, and the wrapping
  // of libraries that have state; code for one instruction set; addresses of kernels that are compared; loops over
  // images, which thunks only call; rows, reductions and products that compiled functions call.
  const std::set<std::string> allowed = {"common/parallel.cpp",
                                         "pointwise/isa_select.cpp",
                                         "pointwise/path_counters.cpp",
                                         "pointwise/record.cpp",
                                         "pointwise/stream.cpp",
                                         "linalg/blas.cpp",
                                         "linalg/gemm_bfloat16.cpp",
                                         "linalg/lapack.cpp",
                                         "linalg/math_libraries.cpp",
                                         "linalg/matrix_product.cpp",
                                         "linalg/row_dots.cpp",
                                         "linalg/small_gemm.cpp",
                                         "linalg/small_kernels.cpp",
                                         "nn/direct_linear.cpp",
                                         "rows/record.cpp",
                                         "rows/reduction.cpp",
                                         "wrappers/register.cpp",
                                         "nn/batch_norm.cpp",
                                         "nn/convolution_columns.cpp",
                                         "nn/convolution_geometry.cpp",
                                         "nn/convolution_onednn.cpp",
                                         "nn/pool.cpp",
                                         "nn/layer_norm_loops.cpp",
                                         "nn/mse_loss_loops.cpp",
                                         "nn/nll_loss_loops.cpp",
                                         "nn/pool_geometry.cpp",
                                         "nn/row_loops.cpp"};
  const std::filesystem::path kernels = std::filesystem::path(SHUNT_SOURCE_DIR) / "kernels";
  std::set<std::string> without;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kernels)) {
    const std::string name = entry.path().filename(), path = std::filesystem::relative(entry.path(), kernels);
    const bool per_isa = name.starts_with("loops_") || (name.starts_with("isa_") && name != "isa_select.cpp");
    if (entry.path().extension() == ".cpp" && !per_isa) without.insert(path);
  }
  ASSERT_GT(without.size(), allowed.size());
  const Library library(SHUNT_LIBRARY_FILE);
  for (const auto& module : library.modules())
    // Compiled through ccache, paths are relative to the build folder.
    without.erase(
        std::filesystem::relative(std::filesystem::path(SHUNT_BINARY_DIR) / module->getSourceFileName(), kernels));
  for (const std::string& source : without)
    EXPECT_TRUE(allowed.contains(source)) << source << " is compiled without bitcode";
}
#endif

}  // namespace
