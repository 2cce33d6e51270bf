// What SHUNT_JIT_DUMP and SHUNT_JIT_PERF leave of compiled functions. Runs with both, and compiles in the caller.
#include "tests/compile/same.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace shunt::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string read(const std::filesystem::path& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

/// The only file in the folder whose name ends so.
std::string readFile(const std::filesystem::path& folder, const std::string& ending) {
  std::string found;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().filename().string().ends_with(ending)) {
      EXPECT_TRUE(found.empty()) << "a second file " << entry.path();
      found = read(entry.path());
    }
  EXPECT_FALSE(found.empty()) << "no file " << ending;
  return found;
}

TEST(CompileDump, GraphPlanAndNativeCodeOfAVariant) {
  const TemporaryFolder temporary("compile_dump");
  const std::filesystem::path& folder = temporary.path();
  setenv("SHUNT_JIT_DUMP", folder.c_str(), 1);  // read at the first compile
  std::string plan;
  {
    auto fast = compile([](const Tensor& x) { return (x * 2 + 1).sigmoid(); }, {.name = "a/b step"});
    for (int i = 0; i < 8; ++i) fast(numbers({64}).requires_grad_());
    EXPECT_THAT(readFile(folder, "-a_b_step.graph"),
                AllOf(HasSubstr("for Float[64]:grad"), HasSubstr("aten::mul.Scalar"),
                      HasSubstr("backward of a gradient with strides [1]"), HasSubstr("aten::sigmoid_backward")));
    EXPECT_THAT(readFile(folder, "-a_b_step.plan"), HasSubstr("in all 0 regions, 3 calls"));
    plan = fast.plan();
  }
  const std::string dumped = readFile(folder, "-a_b_step.plan");
  EXPECT_THAT(dumped, HasSubstr(plan)) << "as it was in the end";
  const size_t at = dumped.find("native (fused.");
  ASSERT_NE(at, std::string::npos) << dumped;
  const size_t begin = dumped.find('(', at) + 1;
  const std::string name = dumped.substr(begin, dumped.find(')', begin) - begin);
  EXPECT_THAT(readFile(folder, "-" + name + ".s"), HasSubstr("a fused loop of 3 steps"));
  EXPECT_THAT(read("/tmp/perf-" + std::to_string(getpid()) + ".map"), HasSubstr("shunt:" + name));
}

}  // namespace
}  // namespace shunt::test
