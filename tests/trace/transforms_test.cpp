// trace() around vmap and grad: graphs of values, which hold no wrapper of the transforms; and inside of them, which is
// an error.
#include <shunt/shunt.h>
#include <shunt/transforms/fake_tensor.h>

#include "tests/support/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace shunt {
namespace {

using test::errorOf;
using ::testing::HasSubstr;

Tensor numbers(IntArrayRef sizes, uint64_t seed) {
  manual_seed(seed);
  return randn(sizes);
}

bool same(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.sizes().equals(b.sizes()) && a.eq(b).all().item<bool>();
}

Tensor loss(const Tensor& w, const Tensor& x) { return (x * w).tanh().square().sum(); }

/// The graph of f at one input, run at another, does what f does there, with fake values too.
template <class F>
void expectTraced(const F& f, const Tensor& at, const Tensor& other) {
  for (const bool fake : {false, true}) {
    SCOPED_TRACE(fake ? "fake" : "real");
    TraceOptions options;
    options.fake = fake;
    const Tensor given = at.clone();
    const Graph g = trace(f, given, options);
    EXPECT_FALSE(given.requires_grad());
    EXPECT_FALSE(given.grad_fn());
    g.verify();
    for (const Graph::Value* c : g.constants()) {
      EXPECT_FALSE(c->constant.key_set().has(Functionality::Batched)) << g.print();
      EXPECT_FALSE(c->constant.key_set().has(Functionality::Tracer)) << g.print();
    }
    EXPECT_TRUE(same(g.run({other})[0], f(other))) << g.print();
    EXPECT_FALSE(same(g.run({other})[0], f(at))) << "the graph has to depend on its input";
  }
}

TEST(TraceTransforms, RecordsVmapUnbatched) {
  const Tensor w = numbers({3}, 3);
  const auto each = [&](const Tensor& x) { return vmap([&](const Tensor& row) { return (row * w).sum(); })(x); };
  expectTraced(each, numbers({4, 3}, 1), numbers({4, 3}, 2));
}

TEST(TraceTransforms, RecordsGrad) {
  const Tensor x = numbers({3}, 3);
  expectTraced([&](const Tensor& w) { return grad([&](const Tensor& v) { return loss(v, x); })(w); }, numbers({3}, 1),
               numbers({3}, 2));
}

TEST(TraceTransforms, RecordsGradientsOfSamples) {
  const Tensor w = numbers({3}, 3);
  const auto each = [&](const Tensor& x) {
    return vmap([&](const Tensor& row) { return grad([&](const Tensor& v) { return loss(v, row); })(w); })(x);
  };
  expectTraced(each, numbers({4, 3}, 1), numbers({4, 3}, 2));
}

TEST(TraceTransforms, RecordsGradOfGradAndHessian) {
  const Tensor x = numbers({3}, 3);
  const auto f = [&](const Tensor& v) { return loss(v, x); };
  expectTraced([&](const Tensor& w) { return grad([&](const Tensor& v) { return grad(f)(v).square().sum(); })(w); },
               numbers({3}, 1), numbers({3}, 2));
  expectTraced([&](const Tensor& w) { return hessian(f)(w); }, numbers({3}, 1), numbers({3}, 2));
}

TEST(TraceTransforms, IsRefusedInside) {
  const auto traced = [](const Tensor& t) {
    const Graph g = trace([](const Tensor& u) { return u * 2; }, t);
    return g.run({t})[0].sum();
  };
  const Tensor x = numbers({4, 3}, 1);
  EXPECT_THAT(errorOf([&] { vmap(traced)(x); }), HasSubstr("trace the transformed function instead"));
  EXPECT_THAT(errorOf([&] { grad(traced)(x); }), HasSubstr("trace the transformed function instead"));
  EXPECT_THAT(
      errorOf([&] {
        trace([](const Tensor& t) { return vmap([](const Tensor& row) { return row.requires_grad_() * 2; })(t); }, x);
      }),
      HasSubstr("inside vmap"));
  EXPECT_TRUE(same(vmap([](const Tensor& t) { return t * 2; })(x), x * 2)) << "everything is as before";
}

TEST(TraceTransforms, GradUnderFakeTensors) {
  const FakeTensorMode mode;
  const Tensor w = ones({3});
  const Tensor g = grad([](const Tensor& v) { return v.square().sum() + ones({3}).sum(); })(w);
  EXPECT_EQ(g.sizes(), IntArrayRef({3}));
  EXPECT_TRUE(g.key_set().has(Functionality::Fake));
}

TEST(Transforms, ChunksReturnTheSameNumberOfTensors) {
  int calls = 0;
  const auto fewer = [&](const Tensor& t) { return std::vector<Tensor>(static_cast<size_t>(2 - calls++ / 1), t); };
  VmapOptions options;
  options.chunk_size = 2;
  EXPECT_THAT(errorOf([&] { vmap(fewer, options)(numbers({4, 3}, 1)); }),
              HasSubstr("2 tensors for the first chunk of samples and 1 for a later one"));
  EXPECT_THAT(
      errorOf([&] { vmap([](const Tensor& t) { return t.as_strided({2}, {1}, 1); }, options)(numbers({4, 3}, 1)); }),
      HasSubstr("storage_offset"));
}

TEST(Transforms, CatKeepsTheDtypeOfEmptyTensors) {
  const Tensor none = empty({0}, TensorOptions(kDouble));
  const auto joined = vmap([&](const Tensor& t) { return cat({none, t}); })(numbers({2, 3}, 1));
  EXPECT_EQ(joined.dtype(), kDouble);
}

}  // namespace
}  // namespace shunt
