// The random generator and the distributions: known answers, moments, seeds, errors.
#include "kernels/random/philox.h"
#include "tests/shape/util.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace shunt {
namespace {

using testing::counted;
using testing::expectErrors;
using testing::iota;
using testing::valuesOf;

// The known answers that Random123, the authors' own implementation, publishes.
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox::encrypt({0, 0, 0, 0}, 0, 0), (philox::Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox::encrypt({~0u, ~0u, ~0u, ~0u}, ~0u, ~0u),
            (philox::Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox::encrypt({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0),
            (philox::Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

struct Moments {
  double mean, variance, skewness, kurtosis, smallest, largest;
};

Moments momentsOf(const Tensor& t) {
  const std::vector<double> v = valuesOf(t);
  const auto n = static_cast<double>(v.size());
  const double mean = std::accumulate(v.begin(), v.end(), 0.0) / n;
  const auto central = [&](int p) {
    double sum = 0;
    for (double x : v) sum += std::pow(x - mean, p);
    return sum / n;
  };
  const double variance = central(2);
  return {mean,
          variance,
          central(3) / std::pow(variance, 1.5),
          central(4) / (variance * variance),
          *std::min_element(v.begin(), v.end()),
          *std::max_element(v.begin(), v.end())};
}

// Bounds are five standard errors wide; the seed is fixed, so a failure is a change of the stream.
TEST(Random, DistributionsHaveTheirMoments) {
  const int64_t n = 200000;
  for (ScalarType type : {kFloat, kDouble}) {
    SCOPED_TRACE(toString(type));
    manual_seed(1);
    const Moments u = momentsOf(shunt::rand({n}, type));
    EXPECT_NEAR(u.mean, 0.5, 0.004);
    EXPECT_NEAR(u.variance, 1.0 / 12, 0.001);
    EXPECT_GE(u.smallest, 0);
    EXPECT_LT(u.largest, 1);
    const Moments g = momentsOf(shunt::randn({n}, type));
    EXPECT_NEAR(g.mean, 0, 0.012);
    EXPECT_NEAR(g.variance, 1, 0.016);
    EXPECT_NEAR(g.skewness, 0, 0.028);
    EXPECT_NEAR(g.kurtosis, 3, 0.056);
    EXPECT_GT(g.largest, 4);
    EXPECT_TRUE(std::isfinite(g.largest) && std::isfinite(g.smallest));
  }
  const Moments b = momentsOf(shunt::empty({n}).bernoulli_(0.3));
  EXPECT_NEAR(b.mean, 0.3, 0.006);
  const Moments i = momentsOf(shunt::randint(-3, 4, {n}));
  EXPECT_NEAR(i.mean, 0, 0.023);
  EXPECT_EQ(i.smallest, -3);
  EXPECT_EQ(i.largest, 3);
  EXPECT_NEAR(i.variance, 4, 0.05);
}

TEST(Random, ReducedTypesStayInRange) {
  for (ScalarType type : {kHalf, kBFloat16}) {
    const Moments u = momentsOf(shunt::rand({20000}, type));
    EXPECT_LT(u.largest, 1) << type;
    EXPECT_NEAR(u.mean, 0.5, 0.02) << type;
    EXPECT_NEAR(momentsOf(shunt::randn({20000}, type)).variance, 1, 0.06) << type;
  }
}

TEST(Random, SeedDeterminesTheStream) {
  manual_seed(7);
  const Tensor a = shunt::rand({5});
  const Tensor b = shunt::rand({5});
  manual_seed(7);
  EXPECT_EQ(valuesOf(shunt::rand({5})), valuesOf(a));
  EXPECT_EQ(valuesOf(shunt::rand({5})), valuesOf(b));
  EXPECT_NE(valuesOf(a), valuesOf(b));
  const Generator g = make_generator(7);
  EXPECT_EQ(valuesOf(shunt::rand({5}, g)), valuesOf(a));
  EXPECT_EQ(g.current_seed(), 7u);
  EXPECT_NE(valuesOf(shunt::rand({5}, make_generator(8))), valuesOf(a));
}

TEST(Random, LayoutAndThreadsDoNotMatter) {
  const auto draw = [](Tensor t) { return valuesOf(t.normal_(0, 1, make_generator(3))); };
  const int64_t n = 300;
  const std::vector<double> expected = draw(shunt::empty({n, n + 1}));
  EXPECT_EQ(draw(shunt::empty({n + 1, n}).t()), expected);
  EXPECT_EQ(draw(shunt::empty({n, 2 * n + 2}).slice(1, 0, 2 * n + 2, 2)), expected);
  const int threads = get_num_threads();
  for (int k : {1, 2, 4}) {
    set_num_threads(k);
    EXPECT_EQ(draw(shunt::empty({n, n + 1})), expected) << k;
  }
  set_num_threads(threads);
  // A prefix of a longer draw is the shorter one.
  const std::vector<double> shorter = draw(shunt::empty({7}));
  EXPECT_TRUE(std::equal(shorter.begin(), shorter.end(), expected.begin()));
}

TEST(Random, Integers) {
  for (ScalarType type : {kByte, kChar, kShort, kInt, kLong, kHalf, kFloat, kDouble, kBool, kBFloat16}) {
    SCOPED_TRACE(toString(type));
    for (double v : valuesOf(shunt::empty({500}, type).random_())) EXPECT_GE(v, 0);
    const Moments m = momentsOf(shunt::empty({500}, type).random_(0, 2));
    EXPECT_EQ(m.smallest, 0);
    EXPECT_EQ(m.largest, 1);
  }
  EXPECT_EQ(momentsOf(shunt::empty({5000}, kByte).random_()).largest, 255);
  EXPECT_EQ(momentsOf(shunt::empty({5000}, kBool).random_()).largest, 1);
  constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
  const Moments all = momentsOf(shunt::empty({5000}, kLong).random_(kLowest, std::optional<int64_t>()));
  EXPECT_LT(all.smallest, -8e18);
  EXPECT_GT(all.largest, 8e18);
  EXPECT_EQ(momentsOf(shunt::empty({500}, kLong).random_(5)).largest, 4);
  EXPECT_EQ(shunt::randint(10, {2, 2}).dtype(), kLong);
  EXPECT_EQ(shunt::randint(10, {2}, kFloat).dtype(), kFloat);
  EXPECT_EQ(shunt::randint_like(iota({2, 3}), 4).dtype(), kFloat);
}

TEST(Random, PermutationsAreUniform) {
  for (int64_t n : {0, 1, 2, 100}) {
    std::vector<double> p = valuesOf(shunt::randperm(n));
    std::sort(p.begin(), p.end());
    EXPECT_EQ(p, counted(n));
  }
  EXPECT_EQ(shunt::randperm(4, kInt).dtype(), kInt);
  manual_seed(3);
  std::vector<int> counts(6, 0);
  for (int i = 0; i < 6000; ++i) {
    const std::vector<double> p = valuesOf(shunt::randperm(3));
    ++counts[static_cast<size_t>(p[0] * 2 + (p[1] > p[2]))];
  }
  for (int c : counts) EXPECT_NEAR(c, 1000, 150);
}

TEST(Random, BernoulliTakesProbabilities) {
  const Tensor p = shunt::tensor({0., 1., 0., 1.});
  EXPECT_EQ(valuesOf(p.bernoulli()), valuesOf(p));
  EXPECT_EQ(valuesOf(shunt::empty({2, 4}, kLong).bernoulli_(p)), (std::vector<double>{0, 1, 0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(valuesOf(iota({3}, kInt).bernoulli(1.0)), std::vector<double>(3, 1));
  EXPECT_EQ(valuesOf(shunt::empty({3}).bernoulli_(0.0)), std::vector<double>(3, 0));
  Tensor out = iota({9});
  EXPECT_EQ(valuesOf(shunt::bernoulli_out(out, p)), valuesOf(p));
}

TEST(Random, FormsAndOptions) {
  const Tensor like = iota({2, 3}, kDouble).t();
  EXPECT_EQ(shunt::rand_like(like).strides().vec(), like.strides().vec());
  EXPECT_EQ(shunt::randn_like(like, kFloat).dtype(), kFloat);
  EXPECT_TRUE(shunt::rand({2}, TensorOptions(kMeta)).is_meta());
  EXPECT_TRUE(shunt::randperm(5, TensorOptions(kMeta)).is_meta());
  EXPECT_TRUE(shunt::randn({2}, shunt::requires_grad()).requires_grad());
  EXPECT_EQ(shunt::rand({2})._version(), 0);
  Tensor out = iota({1});
  EXPECT_EQ(shunt::rand_out(out, {3}).numel(), 3);
  EXPECT_EQ(shunt::randn_out(out, {2, 2}).dim(), 2);
  EXPECT_EQ(shunt::randint_out(out, 5, {4}).numel(), 4);
  EXPECT_EQ(valuesOf(shunt::normal(5.0, 0.0, {3})), std::vector<double>(3, 5));
}

TEST(Random, Errors) {
  Tensor t = iota({3});
  Tensor longs = iota({3}, kLong);
  Tensor bytes = iota({3}, kByte);
  expectErrors({
      {"uniform order", [&] { t.uniform_(1, 0); },
       "uniform_ expects to return a [from, to) range, but found from=1 > to=0"},
      {"uniform width", [&] { t.uniform_(-3e38, 3e38); }, "uniform_ expects to-from <="},
      {"uniform bounds", [&] { t.uniform_(0, 1e300); }, "to is out of bounds for Float"},
      {"uniform nan", [&] { t.uniform_(std::numeric_limits<double>::quiet_NaN(), 1); },
       "from is out of bounds for Float"},
      {"uniform type", [&] { longs.uniform_(); }, "not implemented for 'Long'"},
      {"rand type", [] { shunt::rand({2}, kInt); }, "not implemented for 'Int'"},
      {"normal std", [&] { t.normal_(0, -1); }, "normal expects std >= 0.0, but found std -1"},
      {"normal type", [&] { longs.normal_(); }, "\"normal\" not implemented for 'Long'"},
      {"random order", [&] { longs.random_(3, 3); },
       "random_ expects 'from' to be less than 'to', but got from=3 >= to=3"},
      {"random from", [&] { bytes.random_(-1, 3); }, "from is out of bounds for Byte"},
      {"random to", [&] { bytes.random_(0, 257); }, "to - 1 is out of bounds for Byte"},
      {"randint empty", [] { shunt::randint(0, {2}); },
       "random_ expects 'from' to be less than 'to', but got from=0 >= to=0"},
      {"randint size", [] { shunt::randint(3, {-1}); }, "negative dimension -1"},
      {"randperm negative", [] { shunt::randperm(-1); }, "n must be non-negative, got -1"},
      {"randperm type", [] { shunt::randperm(300, kByte); }, "n is too large for result tensor type: 'Byte'"},
      {"bernoulli p", [&] { t.bernoulli_(1.5); }, "bernoulli_ expects p to be in [0, 1], but got p=1.5"},
      {"bernoulli tensor", [&] { t.bernoulli(); }, "bernoulli_ expects p to be in [0, 1], but got p=2"},
      {"bernoulli integers", [&] { longs.bernoulli(); }, "must be of a floating dtype"},
      {"bernoulli sizes", [&] { t.bernoulli_(iota({2}).zero_()); }, "must match the existing size"},
  });
}

}  // namespace
}  // namespace shunt
