// batch_norm: values worked out by hand, running statistics, layouts and dtypes.
#include "tests/shape/util.h"

#include <shunt/core/parallel.h>

#include <cmath>

namespace shunt::testing {
namespace {

using test::errorOf;
using ::testing::HasSubstr;
using Values = std::vector<double>;

Tensor vectorOf(std::initializer_list<double> values) { return tensor(std::vector<double>(values)).to(kFloat); }

TEST(BatchNorm, TrainingByHand) {
  // Channels 0 2 / 4 6 and 1 3 / 5 7: means 3 and 4, squares 20 each.
  const Tensor x = tensor({0, 2, 1, 3, 4, 6, 5, 7}).to(kFloat).reshape({2, 2, 2});
  Tensor mean = zeros({2}), var = ones({2});
  const auto [y, m, invstd] = native_batch_norm(x, vectorOf({1, 2}), vectorOf({0, 10}), mean, var, true, 0.5, 4);
  EXPECT_EQ(valuesOf(m), (Values{3, 4}));
  EXPECT_FLOAT_EQ(static_cast<float>(valuesOf(invstd)[0]), 1 / 3.0f);
  EXPECT_EQ(valuesOf(mean), (Values{1.5, 2}));
  EXPECT_FLOAT_EQ(static_cast<float>(valuesOf(var)[1]), 0.5f * 20 / 3 + 0.5f) << "the unbiased variance";
  const Values expected{-1, -1 / 3.0, 8, 10 - 2 / 3.0, 1 / 3.0, 1, 10 + 2 / 3.0, 12}, got = valuesOf(y);
  EXPECT_THAT(got, ::testing::Pointwise(::testing::DoubleNear(1e-5), expected));
}

TEST(BatchNorm, RunningStatistics) {
  const Tensor x = tensor({0, 2, 4, 6}).to(kFloat).reshape({2, 2});
  const Tensor mean = vectorOf({2, 2}), var = vectorOf({3, 0});
  const auto [y, m, invstd] = native_batch_norm(x, {}, {}, mean, var, false, 0.5, 1);
  EXPECT_EQ(valuesOf(y), (Values{-1, 0, 1, 4}));
  EXPECT_EQ(m.numel() + invstd.numel(), 0) << "nothing is saved";
  EXPECT_EQ(valuesOf(mean), (Values{2, 2})) << "nor updated";
  // A running vector with a stride of its own is written where it is.
  Tensor pairs = zeros({2, 2});
  batch_norm(x, {}, {}, pairs.select(1, 0), {}, true, 1, 1e-5, false);
  EXPECT_EQ(valuesOf(pairs), (Values{2, 0, 4, 0}));
}

TEST(BatchNorm, LayoutsDtypesAndThreads) {
  manual_seed(5);
  const Tensor x = randn({6, 40, 9, 8}), w = rand({40}), b = rand({40});
  const auto norm = [&](const Tensor& t) { return batch_norm(t, w, b, {}, {}, true, 0.1, 1e-5, false); };
  const int before = get_num_threads();
  set_num_threads(1);
  const Tensor expected = norm(x);
  set_num_threads(3);
  EXPECT_EQ(valuesOf(norm(x)), valuesOf(expected));
  set_num_threads(before);
  const Tensor last = norm(x.contiguous(MemoryFormat::ChannelsLast));
  EXPECT_EQ(valuesOf(last), valuesOf(expected));
  EXPECT_TRUE(last.is_contiguous(MemoryFormat::ChannelsLast));
  EXPECT_EQ(norm(x.to(kBFloat16)).dtype(), kBFloat16) << "with parameters in Float";
  for (const ScalarType dtype : {kHalf, kBFloat16, kDouble}) {
    const auto [y, m, s] = native_batch_norm(x.to(dtype), {}, {}, {}, {}, true, 0.1, 1e-5);
    EXPECT_EQ(y.dtype(), dtype);
    EXPECT_EQ(m.dtype(), dtype);
  }
}

TEST(BatchNorm, Errors) {
  const Tensor x = ones({2, 3, 4});
  const auto norm = [&](const std::optional<Tensor>& w, const std::optional<Tensor>& m, bool training) {
    batch_norm(x, w, {}, m, m, training, 0.1, 1e-5, false);
  };
  EXPECT_THAT(errorOf([&] { norm(ones({2}), {}, true); }), HasSubstr("weight should contain 3 elements not 2"));
  EXPECT_THAT(errorOf([&] { norm({}, ones({4}), true); }), HasSubstr("running_mean should contain 3 elements not 4"));
  EXPECT_THAT(errorOf([&] { norm({}, {}, false); }), HasSubstr("running_mean must be defined in evaluation mode"));
  EXPECT_THAT(errorOf([&] { norm(ones({3}, kDouble), {}, true); }), HasSubstr("expected weight to be Float"));
  EXPECT_THAT(errorOf([&] { batch_norm(ones({3}), {}, {}, {}, {}, true, 0.1, 1e-5, false); }),
              HasSubstr("at least 2 dimensions"));
  EXPECT_THAT(errorOf([&] { native_batch_norm(x.to(kLong), {}, {}, {}, {}, true, 0.1, 1e-5); }),
              HasSubstr("\"batch_norm\" not implemented for 'Long'"));
}

}  // namespace
}  // namespace shunt::testing
