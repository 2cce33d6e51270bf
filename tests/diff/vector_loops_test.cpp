// Loops of thunks are loops over vectors, or those of the library, called where that is better. No result tells: a loop
// that reads its operands' places anew for each element computes the same, ten times as slowly. So the modules are
// looked at, which SHUNT_JIT_DUMP leaves.
#include "tests/support/temporary_folder.h"

#include <shunt/core/isa.h>
#include <shunt/jit/jit.h>
#include <shunt/shunt.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <regex>

namespace diff {
namespace {

using namespace shunt;
namespace fs = std::filesystem;

std::string contentOf(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

Tensor numbers(ScalarType dtype) { return (rand({64}) + 0.5).to(dtype); }

/// Note [Loops that are called] (kernels/pointwise/record.cpp).
enum class Made {
  kWithAvx512,  // called with less, and of float16
  kAlways,      // the library has no loop for the operands
  kNever,       // called
};

struct Loop {
  const char* name;
  const char* op;  // as its file is named
  std::function<Tensor(ScalarType)> call;
  Made made = Made::kWithAvx512;
};

bool isCalled(const Loop& loop, ScalarType dtype) {
  if (loop.made != Made::kWithAvx512) return loop.made == Made::kNever;
  return dtype == kHalf || detail::activeIsa() != Isa::kV4;
}

// With scalars that the kernel stores by a function of the library, with numbers, and with neither.
const Loop kLoops[] = {
    {"add", "aten__add.Tensor.", [](ScalarType t) { return add(numbers(t), numbers(t)); }},
    {"sub, alpha", "aten__sub.", [](ScalarType t) { return sub(numbers(t), numbers(t), 2); }},
    {"mul", "aten__mul.", [](ScalarType t) { return mul(numbers(t), numbers(t)); }},
    {"mul by a number", "aten__mul.", [](ScalarType t) { return mul(numbers(t), 3); }},
    {"pow", "aten__pow.", [](ScalarType t) { return pow(numbers(t), 2.5); }, Made::kNever},
    {"exp", "aten__exp.", [](ScalarType t) { return exp(numbers(t)); }, Made::kNever},
    {"clamp", "aten__clamp.", [](ScalarType t) { return clamp(numbers(t), 0.6, 1.2); }, Made::kNever},
    {"gt", "aten__gt.", [](ScalarType t) { return gt(numbers(t), 1); }},
    {"add_", "aten__add_.", [](ScalarType t) { return numbers(t).add_(numbers(t), 2); }},
    {"leaky_relu", "aten__leaky_relu.", [](ScalarType t) { return leaky_relu(numbers(t), 0.1); }},
    {"a row", "aten__add.Tensor.",
     [](ScalarType t) { return add(numbers(t).expand({4, 64}).contiguous(), numbers(t)); }, Made::kNever},
    {"one element", "aten__mul.", [](ScalarType t) { return mul(numbers(t).sum(), 3); }, Made::kNever},
    {"a first of one element", "aten__gt.", [](ScalarType t) { return gt(numbers(t).sum(), numbers(t)); },
     Made::kAlways},
    {"mixed dtypes", "aten__add.Tensor.", [](ScalarType t) { return add(numbers(t), numbers(kInt)); }, Made::kAlways},
};

TEST(VectorLoops, OfEveryKindOfScalars) {
  ASSERT_NE(std::getenv("SHUNT_JIT_THRESHOLD"), nullptr) << "run it by ctest, which sets what makes each call compile";
  static const test::TemporaryFolder temporary("vector_loops");
  const fs::path& folder = temporary.path();
  setenv("SHUNT_JIT_DUMP", folder.c_str(), 1);  // read once, at the first compile
  const NoGradGuard no_grad;
  const std::regex vector_load(R"(load <\d+ x )");
  for (const ScalarType dtype : {kFloat, kDouble, kBFloat16, kHalf}) {
    for (const Loop& loop : kLoops) {
      jit::clear();
      for (const auto& old : fs::directory_iterator(folder)) fs::remove(old);
      for (int i = 0; i < 3; ++i) loop.call(dtype);
      int with_loop = 0;
      for (const auto& f : fs::directory_iterator(folder)) {
        const std::string file = f.path().filename();
        if (!file.ends_with(".after.ll") || file.find(loop.op) == file.npos) continue;
        ++with_loop;
        const std::string code = contentOf(f.path());
        const bool is_called = isCalled(loop, dtype);
        EXPECT_EQ(code.find("@\"plan:loop.0\"(") != code.npos, is_called) << loop.name << " of " << dtype << ": " << f;
        EXPECT_NE(std::regex_search(code, vector_load), is_called) << loop.name << " of " << dtype << ": " << f;
      }
      EXPECT_GE(with_loop, 1) << loop.name << " of " << dtype;
    }
  }
}

}  // namespace
}  // namespace diff
