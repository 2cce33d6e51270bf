// Autocast as its users see it: the cache of weight casts, gradients of float32 parameters, composites, forms it leaves
// alone.
#include <shunt/shunt.h>

#include <gtest/gtest.h>

#include <thread>

namespace shunt {
namespace {

// More digits than bfloat16 holds.
constexpr float kFine = 1.0f + 1.0f / 1024;

bool same(const Tensor& a, const Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() && (a == b).all().item<bool>();
}

/// What happened to the cache since this was made.
class CacheWatch {
 public:
  uint64_t hits() const { return autocast::cache_stats().hits - start_.hits; }
  uint64_t misses() const { return autocast::cache_stats().misses - start_.misses; }
  static size_t entries() { return autocast::cache_stats().entries; }

 private:
  autocast::CacheStats start_ = autocast::cache_stats();
};

Tensor parameter(IntArrayRef sizes) { return randn(sizes).requires_grad_(); }

TEST(AutocastCache, TwoLinearsCastTheWeightOnce) {
  const Tensor w = parameter({3, 4}), x = randn({2, 4});
  AutocastGuard autocast(kCPU);
  const CacheWatch watch;
  const Tensor first = linear(x, w), second = linear(x, w);
  EXPECT_EQ(watch.misses(), 1u) << "the input is no leaf that requires grad: only the weight is looked up";
  EXPECT_EQ(watch.hits(), 1u);
  EXPECT_EQ(CacheWatch::entries(), 1u);
  EXPECT_EQ(first.scalar_type(), kBFloat16);
  EXPECT_TRUE(same(first, second));
  (first.sum() + second.sum()).backward();
  EXPECT_TRUE(same(w.grad(), (x.to(kBFloat16).sum({0}, true) * 2).to(kFloat).expand({3, 4})))
      << "both uses reach the leaf through one cast";
}

// The cast's graph leads to the one that it was made of.
TEST(AutocastCache, LeavesThatShareMemoryHaveCastsOfTheirOwn) {
  const Tensor w = randn({3, 4}), x = randn({2, 3});
  const AutocastGuard autocast(kCPU);
  Tensor grads[2];
  for (Tensor& grad : grads) {
    const Tensor leaf = w.detach().requires_grad_();
    x.matmul(leaf).sum().backward();
    ASSERT_TRUE(leaf.grad().defined());
    grad = leaf.grad();
  }
  EXPECT_TRUE(equal(grads[0], grads[1]));
}

TEST(AutocastCache, AnUpdatedWeightIsCastAgain) {
  const Tensor w = parameter({3, 4}), x = randn({2, 4});
  AutocastGuard autocast(kCPU);
  const CacheWatch watch;
  linear(x, w);
  {
    NoGradGuard no_grad;
    w.add_(1);
  }
  const Tensor y = linear(x, w);
  EXPECT_EQ(watch.misses(), 2u);
  EXPECT_EQ(watch.hits(), 0u);
  EXPECT_TRUE(same(y.detach(), linear(x.to(kBFloat16), w.detach().to(kBFloat16))));
}

TEST(AutocastCache, ACastMadeWithoutAGraphNeverSwallowsAGradient) {
  const Tensor w = parameter({3, 4}), x = randn({2, 4});
  AutocastGuard autocast(kCPU);
  const CacheWatch watch;
  {
    NoGradGuard no_grad;
    EXPECT_FALSE(linear(x, w).requires_grad());
  }
  linear(x, w).sum().backward();
  EXPECT_EQ(watch.misses(), 2u);
  ASSERT_TRUE(w.grad().defined());
  {
    NoGradGuard no_grad;
    EXPECT_FALSE(linear(x, w).requires_grad()) << "nor does a recorded one leak a graph";
  }
  EXPECT_EQ(watch.hits(), 1u);
  EXPECT_EQ(CacheWatch::entries(), 2u);
}

// mm has an Autograd kernel of its own above the cast, so its cast records nothing: the same one as under no_grad.
TEST(AutocastCache, BelowAutogradTheCastRecordsNothing) {
  const Tensor w = parameter({4, 3}), x = randn({2, 4});
  AutocastGuard autocast(kCPU);
  const CacheWatch watch;
  const Tensor y = x.mm(w);
  {
    NoGradGuard no_grad;
    x.mm(w);
  }
  EXPECT_EQ(watch.misses(), 1u);
  EXPECT_EQ(watch.hits(), 1u);
  y.sum().backward();
  EXPECT_EQ(w.grad().scalar_type(), kFloat);
}

TEST(AutocastCache, OnlyFloatLeavesThatRequireGradAreKept) {
  const Tensor x = randn({2, 4}), leaf = parameter({3, 4});
  AutocastGuard autocast(kCPU);
  const CacheWatch watch;
  linear(x, randn({3, 4}));
  linear(x, leaf * 2);
  linear(x, parameter({4, 3}).t());
  linear(x.to(kDouble), leaf.detach().to(kDouble).requires_grad_());
  linear(x, leaf.detach().to(kBFloat16).requires_grad_());
  EXPECT_EQ(watch.misses(), 0u);
  EXPECT_EQ(CacheWatch::entries(), 0u);
}

TEST(AutocastCache, IsClearedAtTheOutermostEnd) {
  const Tensor w = parameter({3, 4}), x = randn({2, 4});
  const CacheWatch watch;
  {
    AutocastGuard outer(kCPU);
    linear(x, w);
    {
      AutocastGuard inner(kCPU);
      linear(x, w);
    }
    EXPECT_EQ(CacheWatch::entries(), 1u);
    linear(x, w);
    EXPECT_EQ(watch.hits(), 2u);
  }
  EXPECT_EQ(CacheWatch::entries(), 0u);
  AutocastGuard again(kCPU);
  linear(x, w);
  EXPECT_EQ(watch.misses(), 2u);
}

TEST(AutocastCache, KeepsTheTypesOfNestedGuardsApart) {
  const Tensor w = parameter({3, 4}), x = randn({2, 4});
  AutocastGuard outer(kCPU, kBFloat16);
  linear(x, w);
  {
    AutocastGuard inner(kCPU, kHalf);
    EXPECT_EQ(linear(x, w).scalar_type(), kHalf);
  }
  EXPECT_EQ(linear(x, w).scalar_type(), kBFloat16);
  EXPECT_EQ(CacheWatch::entries(), 2u);
}

TEST(AutocastCache, MayBeTurnedOffAndCleared) {
  const Tensor w = parameter({3, 4}), x = randn({2, 4});
  {
    AutocastGuard uncached(kCPU, kBFloat16, true, false);
    linear(x, w);
    EXPECT_EQ(CacheWatch::entries(), 0u);
  }
  AutocastGuard autocast(kCPU);
  linear(x, w);
  EXPECT_EQ(CacheWatch::entries(), 1u);
  autocast::clear_cache();
  EXPECT_EQ(CacheWatch::entries(), 0u);
}

TEST(AutocastCache, ADeadWeightsSuccessorIsCastAfresh) {
  const Tensor x = ones({1, 4});
  AutocastGuard autocast(kCPU);
  const CacheWatch watch;
  for (int i = 1; i <= 20; ++i) {  // the allocator hands the same block out again
    const Tensor y = linear(x, full({1, 4}, static_cast<double>(i)).requires_grad_());
    EXPECT_EQ(y.item<float>(), static_cast<float>(4 * i));
  }
  EXPECT_EQ(watch.hits(), 0u);
}

TEST(Autocast, IsOfItsThread) {
  const Tensor w = parameter({3, 4}), x = randn({2, 4});
  AutocastGuard autocast(kCPU);
  linear(x, w);
  std::thread([&] {
    EXPECT_FALSE(autocast::is_enabled(kCPU));
    EXPECT_EQ(linear(x, w).scalar_type(), kFloat);
    AutocastGuard own(kCPU);
    linear(x, w);
    EXPECT_EQ(autocast::cache_stats().misses, 1u);
  }).join();
  EXPECT_EQ(CacheWatch::entries(), 1u) << "the other guard's end cleared its own thread's cache alone";
}

// Autograd wraps Autocast: the product is low precision, the parameter's gradient has the parameter's type.
TEST(Autocast, LowPrecisionProductsGiveFloatGradients) {
  const Tensor x = randn({5, 3}), w = parameter({3, 2});
  Tensor y;
  {
    AutocastGuard autocast(kCPU, kBFloat16);
    y = x.matmul(w);
  }
  EXPECT_EQ(y.scalar_type(), kBFloat16);
  const Tensor g = randn({5, 2}).to(kBFloat16);
  y.backward(g);
  EXPECT_TRUE(same(w.grad(), x.to(kBFloat16).t().mm(g).to(kFloat))) << "computed in bfloat16, handed on as float32";
}

TEST(Autocast, CompositesAreSeenWholeWithAndWithoutGrad) {
  const Tensor logits = randn({2, 3}).to(kBFloat16), labels = zeros({2}, kLong);
  const Tensor expected = cross_entropy_loss(logits.to(kFloat), labels);
  AutocastGuard autocast(kCPU, kBFloat16);
  EXPECT_TRUE(same(cross_entropy_loss(logits, labels), expected));
  const Tensor leaf = logits.clone().requires_grad_();
  const Tensor loss = cross_entropy_loss(leaf, labels);
  EXPECT_TRUE(same(loss.detach(), expected));
  loss.backward();
  EXPECT_EQ(leaf.grad().scalar_type(), kBFloat16);
}

TEST(Autocast, LeavesInplaceAndOutFormsAlone) {
  const Tensor fine = full({1, 1}, kFine), one = ones({1, 1});
  AutocastGuard autocast(kCPU, kBFloat16);
  EXPECT_EQ(fine.mm(one).item<float>(), 1.0f) << "rounded to bfloat16";
  Tensor out = empty({1, 1});
  mm_out(out, fine, one);
  EXPECT_EQ(out.item<float>(), kFine);
  Tensor sum = zeros({1, 1});
  sum.addmm_(fine, one);
  EXPECT_EQ(sum.scalar_type(), kFloat);
  EXPECT_EQ(sum.item<float>(), kFine);
  addmm_out(out, zeros({1, 1}), fine, one);
  EXPECT_EQ(out.item<float>(), kFine);
}

}  // namespace
}  // namespace shunt
