// What comes out of the bitcode, what stays the host's, and what is refused.
#include "jit/bitcode/source_cache.h"
#include "jit/emit/optimise.h"
#include "tests/jit/fixture_kernels.h"
#include "tests/jit/util.h"
#include "tools/bitcode/bitcode_section.h"

#include <gtest/gtest.h>

#include <llvm/IR/Verifier.h>

namespace shunt::jit::test {
namespace {

class Extract : public testing::Test {
 protected:
  // Opened once: the file's bytes must outlive the library.
  static const Library& fixture() {
    static const Library& library = []() -> const Library& {
      auto* object = new auto(must(llvm::object::ObjectFile::createObjectFile(SHUNT_JIT_FIXTURE_FILE)));
      return *must(Library::open(must(bitcode::findSection(*object->getBinary())))).release();
    }();
    return library;
  }

  std::string refusal(const char* name) {
    const size_t before = extraction.module().size();
    const std::string why = messageOf(extraction.import(name));
    EXPECT_EQ(extraction.module().size(), before) << "a refused import changed the module";
    return why;
  }

  // Makes the imported function a global one of the given name, and compiles.
  LinkedCode compile(llvm::Function* root) {
    root->setName("root");
    root->setLinkage(llvm::GlobalValue::ExternalLinkage);
    std::string errors;
    llvm::raw_string_ostream out(errors);
    EXPECT_FALSE(llvm::verifyModule(extraction.module(), &out)) << errors;
    const Effort effort = must(optimise(extraction.module()));
    return must(link(must(generate(extraction.module(), effort))));
  }
  template <class F>
  F* rootOf(const LinkedCode& code) {
    return reinterpret_cast<F*>(code.address("root"));
  }

  Extraction extraction{fixture(), HostSymbols::instance()};
};

TEST_F(Extract, TheIndexKnowsFunctionsOnly) {
  EXPECT_EQ(fixture().unitCount(), 2u);
  EXPECT_TRUE(fixture().has("fixtureTwice"));
  EXPECT_FALSE(fixture().has("_ZTV12FixtureShape"));
  EXPECT_FALSE(fixture().has("strlen"));
  EXPECT_EQ(fixture().unitsOf("_Z13fixtureInlineIiET_S0_").size(), 2u);
}

TEST_F(Extract, BringsInternalAndInlineFunctions) {
  const LinkedCode code = compile(must(extraction.import("fixtureCallsHelpers")));
  EXPECT_TRUE(extraction.declarations().empty());
  EXPECT_EQ(rootOf<int(int)>(code)(5), fixtureCallsHelpers(5));
}

TEST_F(Extract, ALaterImportGivesTheSameFunctionItsBody) {
  llvm::Function* root = must(extraction.import("fixtureCallsTwice"));
  const std::vector<llvm::Function*> declarations = extraction.declarations();
  ASSERT_EQ(declarations.size(), 1u);
  EXPECT_EQ(declarations[0]->getName(), "fixtureTwice");
  EXPECT_EQ(must(extraction.import("fixtureTwice")), declarations[0]);
  EXPECT_FALSE(declarations[0]->isDeclaration());
  EXPECT_EQ(must(extraction.import("fixtureTwice")), declarations[0]);
  EXPECT_EQ(rootOf<int(int)>(compile(root))(5), 11);
}

TEST_F(Extract, WhatIsNotImportedIsTheHosts) {
  const LinkedCode code = compile(must(extraction.import("fixtureCallsTwice")));
  EXPECT_EQ(rootOf<int(int)>(code)(5), 11);
}

TEST_F(Extract, ConstantsComeAlong) {
  const LinkedCode table = compile(must(extraction.import("fixtureTable")));
  EXPECT_EQ(rootOf<int(int)>(table)(4), 11);
  Extraction other(fixture(), HostSymbols::instance());
  EXPECT_FALSE(must(other.import("fixtureNamed"))->isDeclaration());
}

TEST_F(Extract, AMessageOutlivesTheCode) {
  const char* literal = nullptr;
  {
    const LinkedCode code = compile(must(extraction.import("fixtureLiteral")));
    literal = rootOf<const char*()>(code)();
    const auto address = reinterpret_cast<uint64_t>(literal);
    EXPECT_FALSE(address >= code.functions()[0].address && address < code.functions()[0].address + code.bytes());
  }
  EXPECT_STREQ(literal, "kept for good");
}

TEST_F(Extract, ATableOfNamesOutlivesTheCode) {
  const std::string_view* names = nullptr;
  {
    names = rootOf<const std::string_view*()>(compile(must(extraction.import("fixtureLiterals"))))();
  }
  const LinkedCode overwrites = must(link(compileText(constantFunction("overwrites", 1))));
  EXPECT_EQ(names[0], "first of the names");
  EXPECT_EQ(names[1], "second of the names");
}

TEST_F(Extract, ObjectsGetTheHostsVtable) {
  const std::unique_ptr<FixtureShape> ours(fixtureMakesShape());
  FixtureShape* theirs = nullptr;
  {
    const LinkedCode code = compile(must(extraction.import("fixtureMakesShape")));
    theirs = rootOf<FixtureShape*()>(code)();
  }
  EXPECT_EQ(*reinterpret_cast<void**>(theirs), *reinterpret_cast<void**>(ours.get()));
  EXPECT_EQ(theirs->corners(), 4);
  delete theirs;
}

TEST_F(Extract, AKeptAddressIsTheHostsAlsoWhereTheFunctionIsImported) {
  llvm::Function* root = must(extraction.import("fixtureKeepsAddress"));
  must(extraction.import("fixtureTwice"));
  const LinkedCode code = compile(root);
  int (*kept)(int) = nullptr;
  EXPECT_EQ(rootOf<int(int (**)(int), int)>(code)(&kept, 4), 8);
  EXPECT_EQ(kept, &fixtureTwice);
}

TEST_F(Extract, RefusesWhatWouldLeaveAPointerBehind) {
  EXPECT_NE(refusal("fixtureKeepsInternalAddress").find("internalHelper"), std::string::npos);
  EXPECT_NE(refusal("fixtureKeepsDeep").find("keepsInternal"), std::string::npos) << "by way of an internal function";
  EXPECT_NE(refusal("fixtureCounts").find("counter"), std::string::npos);
  EXPECT_NE(refusal("fixtureThreadLocal").find("thread-local"), std::string::npos);
  EXPECT_NE(refusal("strlen").find("no bitcode"), std::string::npos);
}

TEST_F(Extract, ColdFunctionsStayTheHosts) {
  must(extraction.import("fixtureUsesCold"));
  ASSERT_EQ(extraction.declarations().size(), 1u);
  EXPECT_EQ(extraction.declarations()[0]->getName(), "_Z11fixtureColdi");
}

TEST_F(Extract, SourcesServeOneExtractionAfterAnother) {
  SourceCache sources(fixture(), HostSymbols::instance());
  std::string first;
  for (int i = 0; i < 3; ++i) {
    Extraction again(sources);
    must(again.import("fixtureCallsHelpers"));
    must(again.import("fixtureNamed"));
    std::string text, errors;
    llvm::raw_string_ostream(text) << again.module();
    llvm::raw_string_ostream out(errors);
    EXPECT_FALSE(llvm::verifyModule(again.module(), &out)) << errors;
    if (i == 0) first = text;
    EXPECT_EQ(text, first);
    must(optimise(again.module()));  // changes the copy only
  }
}

TEST_F(Extract, SizesCountWhatHasToComeToo) {
  const size_t alone = *extraction.sizeOf("fixtureTable");
  EXPECT_GT(alone, 1u);
  EXPECT_EQ(must(extraction.import("fixtureTable"))->getInstructionCount(), alone);
  const size_t with_helper = *extraction.sizeOf("fixtureCallsHelpers");
  EXPECT_GT(with_helper, must(extraction.import("fixtureCallsHelpers"))->getInstructionCount());
  EXPECT_FALSE(extraction.sizeOf("fixtureCounts").has_value());
  EXPECT_FALSE(extraction.sizeOf("strlen").has_value());
}

TEST_F(Extract, EveryFunctionIsForThisCpu) {
  must(extraction.import("fixtureCallsHelpers"));
  for (const llvm::Function& function : extraction.module()) {
    if (function.isIntrinsic()) continue;
    EXPECT_FALSE(function.hasFnAttribute("target-cpu")) << function.getName().str();
    EXPECT_FALSE(function.hasFnAttribute("min-legal-vector-width")) << function.getName().str();
    EXPECT_EQ(function.getFnAttribute("target-features").getValueAsString().count("+avx512bf16"), 0u);
  }
}

}  // namespace
}  // namespace shunt::jit::test
