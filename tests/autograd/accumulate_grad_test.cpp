// Which gradients a leaf keeps as they are, and which it has to copy (src/autograd/unshared.h).
#include <gtest/gtest.h>

#include <shunt/shunt.h>

#include "examples/digits/model.h"
#include "tests/autograd/util.h"

namespace shunt::test {
namespace {

using autograd::variable_list;

/// Where the gradient lies that arrives at the leaf. An address only: to hold the tensor would change what is tested.
class Arrival {
 public:
  explicit Arrival(const Tensor& leaf) : leaf_(leaf) {
    leaf.register_hook([at = at_](const Tensor& grad) {
      *at = grad.data_ptr();
      return Tensor();
    });
  }
  bool isKept() const { return *at_ != nullptr && leaf_.grad().data_ptr() == *at_; }

 private:
  Tensor leaf_;
  std::shared_ptr<const void*> at_ = std::make_shared<const void*>(nullptr);
};

void expectPlain(const Tensor& grad, const Tensor& variable) {
  EXPECT_EQ(grad.strides().vec(), variable.strides().vec());
  EXPECT_FALSE(grad.is_view());
  EXPECT_FALSE(grad.requires_grad());
  EXPECT_TRUE(grad.is_leaf());
  EXPECT_FALSE(grad.key_set().has(DispatchKey::AutogradCPU));
  EXPECT_EQ(grad.storage().use_count(), 1u);
}

Tensor matrix(int64_t rows, int64_t columns) { return rand({rows, columns}, kDouble).requires_grad_(); }

class DigitsNet : public testing::TestWithParam<int64_t> {};

TEST_P(DigitsNet, KeepsAllFourGradients) {
  const digits::Net net(7);
  const Tensor x = rand({GetParam(), 64}), y = randint(0, 10, {GetParam()}, kLong);
  const std::vector<Tensor> parameters = net.parameters();
  // What is captured for the caller never passes through a leaf.
  const variable_list expected = autograd::grad({cross_entropy_loss(net.forward(x), y)}, parameters);
  std::vector<Arrival> arrivals(parameters.begin(), parameters.end());
  cross_entropy_loss(net.forward(x), y).backward();
  for (size_t i = 0; i < parameters.size(); ++i) {
    SCOPED_TRACE("parameter " + std::to_string(i));
    EXPECT_TRUE(arrivals[i].isKept());
    EXPECT_EQ(values(parameters[i].grad()), values(expected[i]));
    expectPlain(parameters[i].grad(), parameters[i]);
  }
}
INSTANTIATE_TEST_SUITE_P(Batches, DigitsNet, testing::Values(1, 2, 32));

TEST(KeepsGradient, ThatIsAViewOfNothingElse) {
  const Tensor w = matrix(3, 2), seed = rand({3, 2}, kDouble);
  const Arrival arrival(w);
  w.t().mul(2).t().backward(seed);
  EXPECT_TRUE(arrival.isKept());
  EXPECT_EQ(values(w.grad()), values(seed.mul(2)));
  expectPlain(w.grad(), w);
}

TEST(KeepsGradient, AndAddsTheNextOneInPlace) {
  const Tensor w = matrix(3, 2), seed = rand({3, 2}, kDouble);
  w.t().mul(2).t().backward(seed);
  const Tensor held = w.grad();
  const void* at = held.data_ptr();
  w.t().mul(3).t().backward(seed);
  EXPECT_EQ(w.grad().data_ptr(), at);
  EXPECT_EQ(values(held), values(seed.mul(2).add(seed.mul(3)))) << "as in PyTorch, a handle of grad sees the sum";
}

TEST(KeepsGradient, WithTheLeafsStridesAlsoWhereTheyMeanNothing) {
  const Tensor w = matrix(1, 4);
  const Arrival arrival(w);
  w.t().mul(2).t().backward(rand({1, 4}, kDouble));
  EXPECT_TRUE(arrival.isKept());
  expectPlain(w.grad(), w);
}

TEST(KeepsGradient, OfANodeThatRunsAgain) {
  const Tensor w = matrix(3, 2), seed = rand({3, 2}, kDouble);
  const Tensor y = w.t().mul(2).t();
  y.backward(seed, true);
  const Tensor first = w.grad();
  w.mutable_grad() = Tensor();
  y.backward(seed);
  EXPECT_FALSE(w.grad().is_alias_of(first));
  EXPECT_EQ(values(w.grad()), values(first));
}

TEST(CopiesGradient, ThatTheCallerHolds) {
  const Tensor w = matrix(3, 2), seed = rand({2, 3}, kDouble), whole = rand({6}, kDouble);
  for (const Tensor& held : {seed, whole.view({2, 3})}) {
    w.mutable_grad() = Tensor();
    const Tensor before = held.clone();
    w.t().backward(held);
    EXPECT_FALSE(w.grad().is_alias_of(held));
    w.t().backward(held);
    EXPECT_EQ(values(held), values(before));
    expectPlain(w.grad(), w);
  }
}

TEST(CopiesGradient, ThatAHookKeeps) {
  using Keep = Tensor (*)(const Tensor&);
  const Keep ways[] = {[](const Tensor& g) { return g; }, [](const Tensor& g) { return g.view({-1}); },
                       [](const Tensor& g) { return g.detach(); }, [](const Tensor& g) { return g.data(); },
                       [](const Tensor& g) { return g.is_view() ? g._base() : g; }};
  for (const Keep keep : ways) {
    const Tensor w = matrix(3, 2);
    Tensor kept;
    w.register_hook([&](const Tensor& g) {
      if (!kept.defined()) kept = keep(g);
      return Tensor();
    });
    w.t().mul(2).t().backward(rand({3, 2}, kDouble));
    EXPECT_FALSE(w.grad().is_alias_of(kept));
    const Tensor before = kept.clone();
    w.t().mul(2).t().backward(rand({3, 2}, kDouble));
    EXPECT_EQ(values(kept), values(before)) << "the sum is made in place";
  }
}

TEST(CopiesGradient, ThatAHookReturnsAndKeeps) {
  const Tensor w = matrix(3, 2);
  const Tensor mine = rand({2, 3}, kDouble);
  w.register_hook([&](const Tensor&) { return mine.t(); });
  w.mul(2).backward(rand({3, 2}, kDouble));
  EXPECT_FALSE(w.grad().is_alias_of(mine));
}

TEST(CopiesGradient, ThatAPostHookKeeps) {
  const Tensor w = matrix(3, 2);
  const Tensor y = w.mul(2);
  Tensor kept;
  y.grad_fn()->add_post_hook([&](const variable_list& outputs, const variable_list&) {
    kept = outputs[0];
    return outputs;
  });
  y.backward(rand({3, 2}, kDouble));
  EXPECT_FALSE(w.grad().is_alias_of(kept));
}

TEST(CopiesGradient, ThatGoesToTwoLeaves) {
  const Tensor a = matrix(3, 2), b = matrix(3, 2);
  a.t().add(b.t()).mul(2).backward(rand({2, 3}, kDouble));
  EXPECT_FALSE(a.grad().is_alias_of(b.grad()));
  EXPECT_EQ(values(a.grad()), values(b.grad()));
}

TEST(CopiesGradient, ThatRetainGradWantsToo) {
  const Tensor x = matrix(3, 2), h = x.mul(2);
  h.retain_grad();
  h.t().mul(3).t().backward(rand({3, 2}, kDouble));
  EXPECT_FALSE(x.grad().is_alias_of(h.grad()));
}

TEST(CopiesGradient, OfWhichARunGivesAHandle) {
  const Tensor x = matrix(3, 2), h = x.mul(2).t();
  const Tensor handle = autograd::grad({h.mul(3)}, {h}, {rand({2, 3}, kDouble)}, true)[0];
  const Tensor before = handle.clone();
  h.backward(handle, true);
  h.backward(handle);
  EXPECT_EQ(values(handle), values(before));
}

TEST(CopiesGradient, ThatIsExpanded) {
  const Tensor x = matrix(3, 2);
  x.sum().backward();
  EXPECT_EQ(values(x.grad()), Values(6, 1.0));
  expectPlain(x.grad(), x);
  const Tensor column = matrix(3, 1);
  const Arrival arrival(column);
  column.expand({3, 4}).sum().backward();
  EXPECT_EQ(values(column.grad()), Values(3, 4.0));
  expectPlain(column.grad(), column);
}

TEST(CopiesGradient, ThatLiesInAnotherOrder) {
  const Tensor w = matrix(3, 2);
  const Arrival arrival(w);
  w.t().mul(2).backward(rand({2, 3}, kDouble));
  EXPECT_FALSE(arrival.isKept());
  expectPlain(w.grad(), w);
}

TEST(CopiesGradient, ThatIsPartOfALargerStorage) {
  const Tensor a = leaf({1, 2}), b = leaf({3, 4, 5});
  cat({a, b}).mul(2).backward(tensorOf({1, 2, 3, 4, 5}));
  for (const Tensor& t : {a, b}) EXPECT_EQ(t.grad().storage()->nbytes(), static_cast<size_t>(t.numel()) * 8);
  EXPECT_EQ(values(a.grad()), (Values{2, 4}));
  EXPECT_EQ(values(b.grad()), (Values{6, 8, 10}));
}

/// Gives out the memory of an array as a gradient, and no handle of it stays behind.
struct ForeignNode : Node {
  explicit ForeignNode(double* data) : data_(data) {}
  variable_list apply(variable_list&&) override { return {from_blob(data_, {2}, kDouble)}; }
  double* data_;
};

TEST(CopiesGradient, WhoseMemoryIsNotShunts) {
  double data[] = {1, 2};
  const Tensor x = leaf({0, 0});
  applyNode<ForeignNode>({x}, x.detach().clone(), data).backward(tensorOf({1, 1}));
  EXPECT_NE(x.grad().data_ptr(), data);
  const Tensor sum = leaf({0, 0});
  applyNode<ForeignNode>({sum}, sum.detach().clone(), data).add(sum).backward(tensorOf({1, 1}));
  EXPECT_EQ(data[0], 1) << "nor are other gradients added to it in place";
  EXPECT_EQ(values(sum.grad()), (Values{2, 3}));
}

/// Gives out a tensor that it keeps, as a retained graph does.
struct KeepingNode : Node {
  explicit KeepingNode(Tensor kept) : kept_(std::move(kept)) {}
  variable_list apply(variable_list&&) override { return {transposed ? kept_.t() : kept_}; }
  Tensor kept_;
  bool transposed = false;
};

TEST(CopiesGradient, ThatANodeKeeps) {
  for (const bool transposed : {false, true}) {
    const Tensor x = matrix(3, 2);
    const Tensor y = applyNode<KeepingNode>({x}, x.detach().clone(),
                                            rand(transposed ? IntArrayRef{2, 3} : IntArrayRef{3, 2}, kDouble));
    static_cast<KeepingNode&>(*y.grad_fn()).transposed = transposed;
    y.backward(rand({3, 2}, kDouble), true);
    const Tensor once = x.grad().clone();
    y.backward(rand({3, 2}, kDouble));
    EXPECT_EQ(values(x.grad()), values(once.add(once)));
  }
}

TEST(CopiesGradient, WithItsHistoryUnderCreateGraph) {
  const Tensor w = matrix(3, 2);
  const Arrival arrival(w);
  w.t().mul(w.t()).t().backward(rand({3, 2}, kDouble), std::nullopt, true);
  EXPECT_FALSE(arrival.isKept());
  EXPECT_TRUE(w.grad().requires_grad());
  w.mutable_grad().reset();  // its graph leads back to w
}

}  // namespace
}  // namespace shunt::test
