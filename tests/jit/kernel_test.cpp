// The library's own kernels, from the dispatch table's pointer to running code.
#include "jit/bitcode/source_cache.h"
#include "jit/emit/optimise.h"
#include "tests/jit/util.h"
#include "tests/support/same_bits.h"

#include <shunt/shunt.h>

#include <gtest/gtest.h>

#include <llvm/IR/Verifier.h>

#include <chrono>
#include <map>
#include <optional>
#include <set>

namespace shunt::jit::test {
namespace {

using AddKernel = Tensor(OperatorKernel*, DispatchKeySet, const Tensor&, const Tensor&, const Scalar&);

const TableEntry& addOnCpu() {
  const OperatorHandle add = Dispatcher::singleton().findSchemaOrThrow("aten::add", "Tensor");
  return add.op().state().load()->lookup(DispatchKeySet(DispatchKey::CPU));
}

double millisecondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

// Everything that the module's functions call and that can be imported.
void importAll(Extraction& extraction) {
  std::set<std::string> refused;
  for (bool more = true; more;) {
    more = false;
    for (llvm::Function* function : extraction.declarations()) {
      const std::string name = function->getName().str();
      if (!Library::host().has(name) || refused.count(name)) continue;
      llvm::Expected<llvm::Function*> body = extraction.import(name);
      if (body)
        more = true;
      else
        refused.insert(name), llvm::consumeError(body.takeError());
    }
  }
}

TEST(Kernels, TableEntriesHaveNamesAndBitcode) {
  const HostSymbols& host = HostSymbols::instance();
  const auto address = reinterpret_cast<uint64_t>(addOnCpu().unboxed);
  const std::optional<std::string_view> name = host.name(address);
  ASSERT_TRUE(name.has_value());
  EXPECT_NE(name->find("StaticKernel"), std::string_view::npos) << *name;
  EXPECT_EQ(host.address(*name), address);
  EXPECT_TRUE(Library::host().has(llvm::StringRef(name->data(), name->size())));
  EXPECT_FALSE(host.name(address + 1).has_value());
}

TEST(Kernels, AddIsExtractedCompiledAndRuns) {
  const std::string name(*HostSymbols::instance().name(reinterpret_cast<uint64_t>(addOnCpu().unboxed)));
  const Tensor a = shunt::arange(16, kFloat), b = shunt::ones({16}, kFloat);
  const Library& library = Library::host();
  for (int round = 0; round < 4; ++round) {  // the first one pays for LLVM's tables
    auto begin = std::chrono::steady_clock::now();
    Extraction extraction(library, HostSymbols::instance());
    llvm::Function* root = must(extraction.import(name));
    const double extract = millisecondsSince(begin);
    begin = std::chrono::steady_clock::now();
    importAll(extraction);
    const double extract_all = millisecondsSince(begin);
    size_t bodies = 0;
    for (const llvm::Function& function : extraction.module()) bodies += !function.isDeclaration();
    const size_t declared = extraction.declarations().size();
    root->setName("root");
    root->setLinkage(llvm::GlobalValue::ExternalLinkage);
    std::string errors;
    llvm::raw_string_ostream out(errors);
    ASSERT_FALSE(llvm::verifyModule(extraction.module(), &out)) << errors;
    begin = std::chrono::steady_clock::now();
    const Effort effort = must(optimise(extraction.module()));
    const double optimised = millisecondsSince(begin);
    begin = std::chrono::steady_clock::now();
    auto object = must(generate(extraction.module(), effort));
    const double generated = millisecondsSince(begin);
    begin = std::chrono::steady_clock::now();
    const LinkedCode code = must(link(std::move(object)));
    const double linked = millisecondsSince(begin);
    std::printf(
        "extract %.2f + %.2f ms (%zu bodies, %zu declarations), optimise %.2f, generate %.2f, link %.3f; %zu bytes\n",
        extract, extract_all, bodies, declared, optimised, generated, linked, code.bytes());
    const Tensor sum =
        reinterpret_cast<AddKernel*>(code.address("root"))(nullptr, DispatchKeySet(DispatchKey::CPU), a, b, 2);
    const Tensor expected = shunt::add(a, b, 2);
    EXPECT_TRUE(::shunt::test::sameBits(expected, sum));
  }
}

// Not each can be imported, but each says why, and what is imported is sound.
TEST(Kernels, EveryFunctionOfTheLibraryIsImportedOrSaysWhy) {
  const Library& library = Library::host();
  size_t imported = 0, refused = 0;
  std::map<std::string, int> reasons;
  std::optional<SourceCache> sources;
  constexpr size_t kFunctionsPerCache = 256;  // each cache opens the units anew
  for (const std::string& name : library.names()) {
    if ((imported + refused) % kFunctionsPerCache == 0) sources.emplace(library, HostSymbols::instance());
    Extraction extraction(*sources);
    llvm::Expected<llvm::Function*> function = extraction.import(name);
    if (function) {
      ++imported;
      std::string errors;
      llvm::raw_string_ostream out(errors);
      ASSERT_FALSE(llvm::verifyModule(extraction.module(), &out)) << name << ": " << errors;
    } else {
      ++refused;
      const std::string why = llvm::toString(function.takeError());
      ASSERT_GT(why.size(), name.size() / 8) << name;
      ++reasons[why.substr(why.rfind(": ") + 2)];
    }
  }
  std::printf("%zu functions of the library are importable, %zu are not\n", imported, refused);
  for (const auto& [why, times] : reasons) std::printf("  %4d  %s\n", times, why.c_str());
  EXPECT_GT(imported, 4 * refused);
}

}  // namespace
}  // namespace shunt::jit::test
