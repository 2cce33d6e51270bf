// Errors that LLVM takes for the end of the process.
#include "jit/host/fatal_errors.h"
#include "jit/emit/optimise.h"
#include "tests/jit/util.h"

#include <llvm/Support/ErrorHandling.h>

#include <gtest/gtest.h>

namespace shunt::jit::test {
namespace {

// No instruction of this CPU does that.
constexpr const char* kImpossible = R"(
  declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  define i32 @f() uwtable { %v = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()  ret i32 %v })";

TEST(FatalErrors, AreMessagesWhereTheyAreStopped) {
  TextModule source(kImpossible);
  bool came_back = false;
  const std::string message = stoppingFatalErrors([&] {
    auto object = generate(*source.module);
    came_back = true;
    llvm::consumeError(object.takeError());
  });
  EXPECT_FALSE(came_back);
  EXPECT_NE(message.find("nvvm"), std::string::npos) << message;
  static_cast<void>(source.module.release());  // in pieces
  static_cast<void>(source.context.release());
}

TEST(FatalErrors, LeaveTheCompilerInOrder) {
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(stoppingFatalErrors([] { llvm::report_fatal_error("no hope"); }), "LLVM: no hope");
    EXPECT_EQ(stoppingFatalErrors([] { llvm::report_bad_alloc_error("no memory"); }), "LLVM: no memory");
    std::string outcome;
    const std::string message = stoppingFatalErrors([&] {
      const LinkedCode code = must(link(compileText(constantFunction("answer", 40 + round))));
      outcome = std::to_string(reinterpret_cast<int (*)()>(code.address("answer"))());
    });
    EXPECT_EQ(message, "");
    EXPECT_EQ(outcome, std::to_string(40 + round));
  }
}

TEST(FatalErrors, OfTheContextAreAmongThem) {
  const std::string message = stoppingFatalErrors([] {
    auto* context = new llvm::LLVMContext;  // left behind
    reportErrorsAsFatal(*context);
    context->emitError("bad module");
  });
  EXPECT_NE(message.find("bad module"), std::string::npos) << message;
}

TEST(FatalErrors, InnerWorkKeepsTheOutersRescue) {
  const std::string message = stoppingFatalErrors([] {
    EXPECT_EQ(stoppingFatalErrors([] { llvm::report_fatal_error("inner"); }), "LLVM: inner");
    llvm::report_fatal_error("outer");
  });
  EXPECT_EQ(message, "LLVM: outer");
}

TEST(FatalErrors, ExceptionsPass) {
  EXPECT_THROW(stoppingFatalErrors([] { throw std::runtime_error("x"); }), std::runtime_error);
  EXPECT_EQ(stoppingFatalErrors([] {}), "");
}

}  // namespace
}  // namespace shunt::jit::test
