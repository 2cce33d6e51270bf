// In-place operators inside vmap whose operand lies in the memory of the written sample: what a loop over the samples
// does, which is to refuse it, or the same values. All operators of the library, in all layouts of overlap_cases.h.
#include "tests/support/overlap_cases.h"
#include "tests/vmap/util.h"

#include <shunt/core/log.h>

namespace shunt::test {
namespace {

Tensor matrices(int64_t samples, int64_t n) {
  manual_seed(3);
  return rand({samples, n, n}).mul_(0.9).add_(0.05);
}

bool writesInPlace(const OperatorHandle& op) {
  return op.schema().isInplace() && op.schema().name().find("bernoulli") == std::string::npos &&
         op.schema().name().find("resize") == std::string::npos;
}

TEST(VmapOverlap, IsWhatALoopMakesOfIt) {
  const LogSink before = set_log_sink([](LogLevel, const char*) {});
  int refused = 0, computed = 0;
  for (const OperatorHandle& op : writingOperators()) {
    if (!writesInPlace(op)) continue;
    for (const Overlapping& how : overlappings())
      for (const int64_t n : {3, 40}) {
        SCOPED_TRACE(op.operator_name().str() + ", " + how.name + ", " + std::to_string(n));
        const auto f = [&](const Tensor& y) {
          std::optional<Stack> stack = callOf(op, how.written(y), how.read(y));
          op.callBoxed(&*stack);
          return y * 1;
        };
        const Tensor in = matrices(3, n);
        std::string expected, got;
        Tensors loop;
        for (int64_t i = 0; i < 3 && (expected.empty() || expected == "no error"); ++i)
          expected = errorOf<std::exception>([&] { loop.push_back(f(in[i].clone())); });
        Tensor out;
        got = errorOf<std::exception>([&] { out = vmap(f)(in.clone()); });
        if (expected != "no error") {
          ++refused;
          EXPECT_NE(got, "no error") << "the loop says " << expected;
          continue;
        }
        ++computed;
        ASSERT_EQ(got, "no error");
        EXPECT_LT(distance(out, stack(loop)), 1e-5);
        EXPECT_LT(distance(vmap(f, {.in_dims = {1}})(in.transpose(0, 1).contiguous()), stack(loop)), 1e-5);
      }
  }
  EXPECT_GT(refused, 300);
  EXPECT_GT(computed, 200);
  set_log_sink(before);
}

// x.add_(x[0]), as it was found: a loop refuses it, of any size.
TEST(VmapOverlap, OfARowIsRefused) {
  for (const auto& [n, m] : std::vector<std::pair<int64_t, int64_t>>{{2, 3}, {8, 8}, {100, 50}, {3, 2000}})
    for (const ScalarType dtype : {kFloat, kDouble}) {
      const Tensor x = rand({2, n, m}, TensorOptions().dtype(dtype));
      const auto f = [](const Tensor& t) { return Tensor(t).add_(t[0]) * 1; };
      EXPECT_THAT(errorOf([&] { vmap(f)(x.clone()); }), testing::HasSubstr("single memory location"));
      EXPECT_THAT(errorOf([&] { compile(vmap(f))(x.clone()); }), testing::HasSubstr("single memory location"));
      const auto twice = [&](const Tensor& t) { return vmap(f)(t); };
      EXPECT_THAT(errorOf([&] { vmap(twice)(x.clone().unsqueeze(0)); }), testing::HasSubstr("single memory location"));
    }
}

}  // namespace
}  // namespace shunt::test
