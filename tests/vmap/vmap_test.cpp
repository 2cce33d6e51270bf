// vmap itself: dimensions, containers, chunks, nesting, views, writes, and that a rule serves the batch.
#include "tests/vmap/util.h"

#include <shunt/core/log.h>

#include <thread>

namespace shunt::test {
namespace {

TEST(Vmap, RunsOncePerBatchByRule) {
  const Tensor x = randn({5, 3}), y = randn({3});
  int calls = 0;
  const VmapCounters before = vmap_counters();
  const Tensor z = vmap(
      [&](const Tensor& a, const Tensor& b) {
        ++calls;
        EXPECT_EQ(a.sizes(), IntArrayRef({3}));
        return (a * b).sum();
      },
      {.in_dims = {0, std::nullopt}})(x, y);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(vmap_counters().rules - before.rules, 2u);
  EXPECT_EQ(vmap_counters().fallbacks, before.fallbacks);
  EXPECT_TRUE(sameValues(z, (x * y).sum(1)));
}

TEST(Vmap, DimensionsGoInAndOut) {
  const Tensor x = randn({2, 5, 3}), y = randn({3, 5});
  const auto f = [](const Tensor& a, const Tensor& b) { return a * b; };
  const Tensor expected = x * y.t().unsqueeze(0);
  EXPECT_TRUE(sameValues(vmap(f, {.in_dims = {1, 1}, .out_dims = {1}})(x, y), expected));
  EXPECT_TRUE(sameValues(vmap(f, {.in_dims = {-2, -1}, .out_dims = {-1}})(x, y), expected.permute({0, 2, 1})));
  EXPECT_TRUE(sameValues(vmap(f, {.in_dims = {1, 1}, .out_dims = {0}})(x, y), expected.transpose(0, 1)));
}

TEST(Vmap, ContainersOfTensorsAndOtherArguments) {
  const Tensor x = randn({4, 3}), y = randn({4, 3});
  const auto f = [](const std::pair<Tensor, std::vector<Tensor>>& in, double scale) {
    return std::make_tuple(in.first + in.second[0], std::vector<Tensor>{in.second[0] * scale, in.first});
  };
  const auto [sum, list] = vmap(f)(std::make_pair(x, std::vector<Tensor>{y}), 2.0);
  EXPECT_TRUE(sameValues(sum, x + y));
  EXPECT_TRUE(sameValues(list[0], y * 2.0));
  EXPECT_TRUE(list[1].is_same(x));
}

TEST(Vmap, ResultWithoutBatchIsRepeated) {
  const Tensor x = randn({4, 3}), c = randn({2});
  const Tensor y = vmap([&](const Tensor&) { return c * 2; })(x);
  EXPECT_TRUE(sameValues(y, (c * 2).expand({4, 2})));
}

TEST(Vmap, ChunksGiveTheSame) {
  const Tensor x = randn({7, 3});
  const auto f = [](const Tensor& a) { return std::make_pair(a.exp(), a.sum()); };
  int64_t most = 0;
  const auto counted = [&](const Tensor& a) {
    most = std::max(most, a.numel());
    return f(a);
  };
  const auto [e, s] = vmap(counted, {.out_dims = {1, 0}, .chunk_size = 3})(x);
  EXPECT_EQ(most, 3);
  EXPECT_TRUE(sameValues(e, x.exp().t()));
  EXPECT_TRUE(sameValues(s, x.sum(1)));
}

TEST(Vmap, NestsInItself) {
  const Tensor x = randn({4, 3}), y = randn({5, 3});
  const auto dot = [](const Tensor& a, const Tensor& b) { return (a * b).sum(); };
  const auto row = [&](const Tensor& a, const Tensor& all) {
    return vmap(dot, {.in_dims = {std::nullopt, 0}})(a, all);
  };
  const Tensor z = vmap(row, {.in_dims = {0, std::nullopt}})(x, y);
  EXPECT_TRUE(sameValues(z, (x.unsqueeze(1) * y).sum(2)));
}

TEST(Vmap, EmptyBatch) {
  const Tensor y = vmap([](const Tensor& a) { return a.exp().sum(); })(zeros({0, 3}));
  EXPECT_EQ(y.sizes(), IntArrayRef({0}));
}

TEST(Vmap, WritesOfTheFunctionAreSeen) {
  const Tensor x = randn({4, 3});
  const Tensor expected = x * 2 + 1;
  const Tensor y = vmap([](const Tensor& a) {
    Tensor b = a.clone();
    b.mul_(2);
    b[0].add_(1);
    b.slice(0, 1).add_(1);
    return b;
  })(x);
  EXPECT_TRUE(sameValues(y, expected));
  const Tensor written = x.clone();
  vmap([](Tensor a) { return a.mul_(2); })(written);
  EXPECT_TRUE(sameValues(written, x * 2)) << "a written argument is the caller's tensor";
}

TEST(Vmap, InPlaceViewsChangeWhatTheSampleShows) {
  const Tensor x = randn({4, 2, 3});
  const Tensor y = vmap([](const Tensor& a) {
    Tensor b = a.clone();
    b.t_();
    EXPECT_EQ(b.sizes(), IntArrayRef({3, 2}));
    b.unsqueeze_(0);
    b.squeeze_(0);
    return b;
  })(x);
  EXPECT_TRUE(sameValues(y, x.transpose(1, 2)));
  EXPECT_EQ(x.sizes(), IntArrayRef({4, 2, 3}));
}

TEST(Vmap, PromotesAsForOneSample) {
  const Tensor x = randn({4, 3}), s = randn({4}, TensorOptions(kDouble));
  const auto f = [](const Tensor& a, const Tensor& b) { return a * b; };
  const Tensor y = vmap(f)(x, s);
  EXPECT_EQ(y.dtype(), kFloat);
  EXPECT_TRUE(sameValues(y, loop([&](const Tensors& t) { return Tensors{f(t[0], t[1])}; }, {x, s}, {0, 0})[0]));
  const Tensor z = vmap(f, {.in_dims = {0, std::nullopt}})(randn({4}), s[0]);
  EXPECT_EQ(z.dtype(), kDouble);
}

TEST(Vmap, OperatorsWithoutRuleLoopAndWarnOnce) {
  static int warnings;
  warnings = 0;
  const LogSink before = set_log_sink([](LogLevel, const char* text) {
    if (std::string_view(text).find("vmap: operator vmap_test::twice") != std::string_view::npos) ++warnings;
  });
  Library lib(Library::Kind::kDef, "vmap_test");
  lib.def("twice(Tensor self) -> Tensor");
  lib.impl("twice", DispatchKey::CPU, [](const Tensor& t) { return t * 2; });
  const auto op = Dispatcher::singleton().findSchemaOrThrow("vmap_test::twice", "").typed<Tensor(const Tensor&)>();
  const Tensor x = randn({4, 3});
  const uint64_t fallbacks = vmap_counters().fallbacks;
  for (int i = 0; i < 2; ++i)
    EXPECT_TRUE(sameValues(vmap([&](const Tensor& t) { return op.call(t); }, {.in_dims = {1}})(x), (x * 2).t()));
  EXPECT_EQ(vmap_counters().fallbacks - fallbacks, 2u);
  EXPECT_EQ(warnings, 1);
  set_log_sink(before);
}

TEST(Vmap, LevelsBelongToTheirThread) {
  const Tensor x = randn({4, 3});
  const Tensor y = vmap([&](const Tensor& a) {
    Tensor other;
    std::thread([&] { other = x * 2; }).join();
    EXPECT_EQ(other.dim(), 2);
    return a + other;
  })(x);
  EXPECT_TRUE(sameValues(y, x.unsqueeze(1) + x * 2));
}

TEST(Vmap, AutogradOutsideDifferentiatesTheBatch) {
  const Tensor x = randn({4, 3}).requires_grad_(), w = randn({3}).requires_grad_();
  vmap([&](const Tensor& a) { return (a * w).sigmoid().sum(); })(x).sum().backward();
  const Tensor gx = x.grad(), gw = w.grad();
  x.mutable_grad() = w.mutable_grad() = Tensor();
  (x * w).sigmoid().sum().backward();
  EXPECT_TRUE(sameValues(gx, x.grad()));
  EXPECT_LT(distance(gw, w.grad()), 1e-6);
}

TEST(Vmap, GuardsInsideHoldForWhatTheBatchRuns) {
  const Tensor x = randn({4, 3}).requires_grad_();
  const auto [a, b] = vmap([](const Tensor& t) {
    Tensor cut;
    {
      const NoGradGuard no_grad;
      cut = t * 2;
    }
    return std::make_pair(cut, t * 3);
  })(x);
  EXPECT_FALSE(a.requires_grad());
  EXPECT_TRUE(b.requires_grad());
  const AutocastGuard autocast(kCPU, kBFloat16);
  EXPECT_EQ(vmap([](const Tensor& t) { return t.mm(t.t()); })(randn({4, 2, 3})).dtype(), kBFloat16);
}

}  // namespace
}  // namespace shunt::test
