// Random operators inside vmap, under each randomness.
#include "tests/vmap/util.h"

namespace shunt::test {
namespace {

using testing::HasSubstr;

VmapOptions with(Randomness r) { return {.randomness = r}; }

bool samplesAreEqual(const Tensor& t) {
  for (int64_t i = 1; i < t.size(0); ++i)
    if (!sameValues(t[i], t[0])) return false;
  return true;
}

/// Functions of one sample that draw numbers in each way that operators do.
const std::pair<const char*, std::function<Tensor(const Tensor&)>> kDraws[] = {
    {"rand", [](const Tensor& x) { return x + rand({3}); }},
    {"randn", [](const Tensor& x) { return x + randn({3}); }},
    {"randint", [](const Tensor& x) { return x + randint(1000000, {3}); }},
    {"randperm", [](const Tensor& x) { return x.sum() + randperm(20); }},
    {"normal", [](const Tensor& x) { return x + normal(0.0, 1.0, {3}); }},
    {"rand_like", [](const Tensor& x) { return x + rand_like(x); }},
    {"rand_like of a constant", [](const Tensor& x) { return x + rand_like(ones({3})); }},
    {"randn_like", [](const Tensor& x) { return randn_like(x); }},
    {"randint_like", [](const Tensor& x) { return randint_like(x, 1000000); }},
    {"uniform_", [](const Tensor& x) { return x.clone().uniform_(); }},
    {"normal_", [](const Tensor& x) { return x.clone().normal_(); }},
    {"bernoulli_", [](const Tensor& x) { return x.expand({40, 3}).clone().bernoulli_(0.5); }},
    {"bernoulli.p", [](const Tensor& x) { return bernoulli(x.expand({40, 3}), 0.5); }},
    {"dropout", [](const Tensor& x) { return dropout(x.expand({40, 3}) * 0 + 1, 0.5, true); }},
    {"dropout of a constant", [](const Tensor& x) { return x + dropout(ones({40, 3}), 0.5, true); }},
};

TEST(VmapRandom, IsAnErrorUnlessAllowed) {
  const Tensor x = zeros({4, 3});
  for (const auto& [name, f] : kDraws)
    EXPECT_THAT(errorOf([&] { vmap(f)(x); }), HasSubstr("Randomness::kSame")) << name;
}

TEST(VmapRandom, SameDrawsWhatOneCallDraws) {
  const Tensor x = zeros({4, 3});
  for (const auto& [name, f] : kDraws) {
    manual_seed(7);
    const Tensor one = f(x[0]);
    manual_seed(7);
    const Tensor all = vmap(f, with(Randomness::kSame))(x);
    EXPECT_TRUE(samplesAreEqual(all)) << name;
    EXPECT_TRUE(sameValues(all[0], one)) << name;
  }
}

TEST(VmapRandom, DifferentDrawsOthersForEachSample) {
  const Tensor x = zeros({4, 3});
  for (const auto& [name, f] : kDraws) {
    const Tensor all = vmap(f, with(Randomness::kDifferent))(x);
    EXPECT_EQ(all.sizes().slice(1, all.dim() - 1), f(x[0]).sizes()) << name;
    for (int64_t i = 0; i < 4; ++i)
      for (int64_t k = 0; k < i; ++k) EXPECT_FALSE(sameValues(all[i], all[k])) << name;
  }
}

TEST(VmapRandom, ChunksDrawOnlyWhereSamplesDiffer) {
  const Tensor x = zeros({4, 3});
  const auto f = [](const Tensor& t) { return t + rand({3}); };
  EXPECT_THAT(errorOf([&] { vmap(f, {.randomness = Randomness::kSame, .chunk_size = 2})(x); }),
              HasSubstr("Leave chunk_size 0"));
  EXPECT_TRUE(samplesAreEqual(vmap(f, {.randomness = Randomness::kSame, .chunk_size = 4})(x)));
  EXPECT_FALSE(samplesAreEqual(vmap(f, {.randomness = Randomness::kDifferent, .chunk_size = 2})(x)));
}

TEST(VmapRandom, ProbabilitiesMayBeBatched) {
  const Tensor p = stack({zeros({50}), ones({50})});
  const auto f = [](const Tensor& t) { return bernoulli(t); };
  EXPECT_TRUE(sameValues(vmap(f, with(Randomness::kDifferent))(p), p));
  const auto in_place = [](const Tensor& t) { return empty_like(t).bernoulli_(t); };
  EXPECT_TRUE(sameValues(vmap(in_place, with(Randomness::kDifferent))(p), p));
  EXPECT_THAT(errorOf([&] { vmap(f, with(Randomness::kSame))(p); }), HasSubstr("probabilities, argument 'self'"));
}

TEST(VmapRandom, InPlaceOnAConstant) {
  const Tensor x = zeros({4, 3});
  Tensor c = zeros({3});
  const auto f = [&](const Tensor& t) { return t + c.uniform_(); };
  EXPECT_TRUE(samplesAreEqual(vmap(f, with(Randomness::kSame))(x)));
  EXPECT_THAT(errorOf([&] { vmap(f, with(Randomness::kDifferent))(x); }),
              HasSubstr("one tensor can't hold other numbers for each sample"));
}

TEST(VmapRandom, BelongsToTheLevelThatHasIt) {
  const Tensor x = zeros({4, 5, 3});
  const auto row = [](Randomness inner) {
    return [inner](const Tensor& t) { return vmap([](const Tensor& s) { return s + rand({3}); }, with(inner))(t); };
  };
  const Tensor same_inside = vmap(row(Randomness::kSame), with(Randomness::kDifferent))(x);
  EXPECT_FALSE(samplesAreEqual(same_inside));
  EXPECT_TRUE(samplesAreEqual(same_inside[0]));
  const Tensor same_outside = vmap(row(Randomness::kDifferent), with(Randomness::kSame))(x);
  EXPECT_TRUE(samplesAreEqual(same_outside));
  EXPECT_FALSE(samplesAreEqual(same_outside[0]));
  EXPECT_THAT(errorOf([&] { vmap(row(Randomness::kSame))(x); }), HasSubstr("aten::rand"));
}

TEST(VmapRandom, InsideGradInsideVmap) {
  const auto f = grad([](const Tensor& t) { return (t * dropout(ones({40}), 0.5, true)).sum(); });
  const Tensor x = zeros({4, 40});
  EXPECT_FALSE(samplesAreEqual(vmap(f, with(Randomness::kDifferent))(x)));
  EXPECT_TRUE(samplesAreEqual(vmap(f, with(Randomness::kSame))(x)));
}

}  // namespace
}  // namespace shunt::test
