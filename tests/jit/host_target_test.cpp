// The CPU that thunks are compiled for. tests/machines runs it with SHUNT_ISA held lower too.
#include "jit/host/host_target.h"
#include "tests/jit/util.h"

#include <shunt/core/isa.h>

#include <llvm/IR/LegacyPassManager.h>
#include <llvm/Support/raw_ostream.h>

#include <gtest/gtest.h>

namespace shunt::jit::test {
namespace {

bool uses(const std::string& feature) {
  return ("," + HostTarget::instance().features() + ",").find(",+" + feature + ",") != std::string::npos;
}

TEST(HostTarget, HasTheInstructionSetInForce) {
  const Isa isa = shunt::detail::activeIsa();
  EXPECT_TRUE(uses("sse2"));
  for (const char* feature : {"avx", "avx2", "fma", "bmi2", "f16c"})
    if (isa >= Isa::kV3)
      EXPECT_TRUE(uses(feature)) << feature;
    else if (isa != shunt::detail::bestIsa())
      EXPECT_FALSE(uses(feature)) << feature;
  for (const char* feature : {"avx512f", "avx512vl"})
    if (isa == Isa::kV4)
      EXPECT_TRUE(uses(feature)) << feature;
    else if (isa != shunt::detail::bestIsa())
      EXPECT_FALSE(uses(feature)) << feature;
  const unsigned widths[kNumIsas] = {128, 256, 512};
  if (isa != shunt::detail::bestIsa()) EXPECT_EQ(HostTarget::instance().vectorWidth(), widths[static_cast<int>(isa)]);
  EXPECT_FALSE(uses("avx512bf16")) << "its conversion flushes denormals";
}

// Two cache lines for a loop that fits in one would double its time.
TEST(HostTarget, InnerLoopsBeginAtMultiplesOf32Bytes) {
  TextModule source(R"(
    define void @f(ptr %p, i64 %n) uwtable {
    entry:
      br label %loop
    loop:
      %i = phi i64 [ 0, %entry ], [ %next, %loop ]
      %q = getelementptr i64, ptr %p, i64 %i
      store volatile i64 %i, ptr %q
      %next = add i64 %i, 1
      %more = icmp ult i64 %next, %n
      br i1 %more, label %loop, label %done
    done:
      ret void
    })");
  HostTarget::instance().prepare(*source.module);
  llvm::SmallString<1024> text;
  llvm::raw_svector_ostream out(text);
  llvm::legacy::PassManager passes;
  const HostTarget::Machine machine = HostTarget::instance().makeMachine();
  ASSERT_FALSE(machine->addPassesToEmitFile(passes, out, nullptr, llvm::CodeGenFileType::AssemblyFile));
  passes.run(*source.module);
  EXPECT_TRUE(text.str().contains(".p2align\t5")) << text.c_str();
}

}  // namespace
}  // namespace shunt::jit::test
