// What nodes keep of tensors: results of which only the storage is kept give the gradients, and the errors, that whole
// tensors give; which results those are; and what nodes say of outputs, however many.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <shunt/autograd/saved_variable.h>
#include <shunt/shunt.h>

#include "src/tensor/stress.h"
#include "tests/autograd/util.h"
#include "tests/support/same_bits.h"

#include <functional>

namespace shunt::test {
namespace {

using testing::HasSubstr;
using Formula = std::function<Tensor(const Tensor&)>;

uint64_t allocationsOf(const std::function<void()>& f) {
  const auto made = [] {
    const detail::AllocationCounters c = detail::allocationCounters();
    return c.from_list + c.from_system;
  };
  const uint64_t before = made();
  f();
  return made() - before;
}

/// A tensor that requires grad and isn't a leaf.
Tensor inner(const Tensor& values) { return values.detach().requires_grad_().view_as(values).clone(); }

/// Layouts whose results are whole storages, and others.
std::vector<Tensor> inputs() {
  return {randn({}),
          randn({5}),
          randn({2, 3}),
          randn({0, 3}),
          randn({2, 1, 3}).to(kDouble),
          randn({1, 2, 1, 2, 1, 3}),
          randn({3, 2}).t(),
          randn({4, 1}).expand({4, 3}),
          randn({2, 3, 4}).select(1, 1)};
}

TEST(SavedResult, GivesTheGradientOfTheFormula) {
  for (const Tensor& values : inputs()) {
    SCOPED_TRACE(testing::Message() << values.sizes() << ' ' << values.strides());
    const Tensor x = values.clone().requires_grad_();
    const Tensor weights = randn(values.sizes()).to(values.scalar_type());
    const auto gradient = [&](const Formula& f) {
      // The result itself is gone when backward runs.
      return autograd::grad({f(x.mul(1)).mul(weights).sum()}, {x})[0];
    };
    const Tensor y = x.detach().sigmoid(), z = x.detach().exp();
    EXPECT_TRUE(
        sameBits(gradient([](const Tensor& t) { return t.sigmoid(); }), sigmoid_backward(weights, y), kButStrides));
    EXPECT_TRUE(sameBits(gradient([](const Tensor& t) { return t.exp(); }), weights.mul(z), kButStrides));
    EXPECT_TRUE(sameBits(gradient([](Tensor t) { return t.exp_(); }), weights.mul(z), kButStrides));
  }
}

TEST(SavedResult, IsUnpackedAsTheTensorItWas) {
  const Tensor x = randn({2, 1, 3}).requires_grad_();
  const Tensor y = x.mul(2);
  const autograd::SavedVariable saved(y, true);
  const Tensor back = saved.unpack(y.grad_fn());
  EXPECT_FALSE(back.is_same(y));
  EXPECT_TRUE(back.is_alias_of(y));
  EXPECT_EQ(back.sizes(), y.sizes());
  EXPECT_EQ(back.strides(), y.strides());
  EXPECT_EQ(back.dtype(), y.dtype());
  EXPECT_EQ(back.key_set(), y.key_set());
  EXPECT_EQ(back.grad_fn(), y.grad_fn());
  EXPECT_EQ(back.output_nr(), y.output_nr());
  EXPECT_EQ(back._version(), y._version());
}

// What it was, not what the tensor has become.
TEST(SavedResult, KeepsItsShape) {
  const Tensor x = randn({6}).requires_grad_();
  Tensor y = x.mul(2);
  const autograd::SavedVariable saved(y, true);
  y.unsafeGetTensorImpl()->set_sizes_contiguous({2, 3});
  EXPECT_EQ(saved.unpack(y.grad_fn()).sizes(), IntArrayRef({6}));
  // Nor what the node says, where that is about something else.
  const autograd::SavedVariable reshaped(y, true);
  EXPECT_EQ(reshaped.unpack(y.grad_fn()).sizes(), IntArrayRef({2, 3}));
}

TEST(SavedResult, IsOneMoreHolderOfItsStorage) {
  const Tensor x = randn({5}).requires_grad_();
  Tensor y = x.sigmoid();
  EXPECT_EQ(y.storage().use_count(), 2u);
  const Storage storage = y.storage();
  y = Tensor();
  EXPECT_EQ(storage.use_count(), 1u);
}

TEST(SavedResult, TakesNoTensorWhereTheStorageIsAll) {
#ifdef SHUNT_STRESS
  GTEST_SKIP() << "builds for sanitizers count no allocations";
#endif
  const Tensor dense = inner(randn({4, 4})), transposed = inner(randn({4, 4}).t());
  ASSERT_FALSE(transposed.is_contiguous());
  const auto allocations = [](const Tensor& x, const Formula& f) {
    f(x);  // the first call may make what later ones find
    return allocationsOf([&] { f(x); });
  };
  const Formula saves = [](const Tensor& t) { return t.sigmoid(); },
                saves_none = [](const Tensor& t) { return t.neg(); };
  EXPECT_EQ(allocations(dense, saves), allocations(dense, saves_none));
  EXPECT_EQ(allocations(transposed, saves), allocations(transposed, saves_none) + 1);
}

TEST(SavedResult, RefusesWhatWasChanged) {
  const Tensor x = randn({2, 3}).requires_grad_();
  Tensor y = x.sigmoid();
  y.detach().add_(1);
  EXPECT_THAT(errorOf([&] { y.sum().backward(); }),
              HasSubstr("[Float [2, 3]], which is output 0 of SigmoidBackward0, is at version 1; expected version 0"));
}

TEST(SavedResult, IsFreedByBackward) {
  const Tensor x = randn({3}).requires_grad_();
  const Tensor y = x.sigmoid();
  const Tensor loss = y.sum();
  loss.backward();
  EXPECT_EQ(y.storage().use_count(), 1u);
  EXPECT_THAT(errorOf([&] { loss.backward(); }), HasSubstr("Trying to backward through the graph a second time"));
}

TEST(SavedResult, HasGradientsOfItsOwn) {
  const Tensor x = leaf({0.5, -1}), y = x.exp();
  const Tensor first = autograd::grad({y.sum()}, {x}, {}, true, true)[0];
  const Tensor second = autograd::grad({first.sum()}, {x})[0];
  EXPECT_EQ(values(second), values(y));
}

// What unpacks is another node than the one that described the output, or describes it no more: the tensor is the same.
TEST(SavedResult, IsWholeForNodesWrittenByHand) {
  struct Other : Node {
    autograd::variable_list apply(autograd::variable_list&& grads) override { return std::move(grads); }
  };
  const Tensor x = randn({3, 4}).requires_grad_();
  const Tensor second = std::get<1>(ops::var_mean_correction::call(x, IntArrayRef{1}, 1, false));
  ASSERT_EQ(second.output_nr(), 1);
  const Tensor first = x.exp();
  for (const Tensor& y : {second, first}) {
    const autograd::SavedVariable saved(y, true);
    const auto other = make_intrusive<Other>();
    EXPECT_TRUE(sameBits(saved.unpack(intrusive_ptr<Node>(other)), y, kButStrides));
    other->add_input_metadata(randn({50}));
    EXPECT_TRUE(sameBits(saved.unpack(intrusive_ptr<Node>(other)), y, kButStrides));
    EXPECT_EQ(saved.unpack(y.grad_fn()).strides(), y.strides());
  }
}

// Its versions aren't counted, so nobody would notice a change before backward.
TEST(SavedResult, MayNotBeAnInferenceTensor) {
  Library m(Library::Kind::kImpl, "aten", DispatchKey::CPU);
  m.impl(
      "sigmoid", +[](const Tensor& t) {
        const InferenceMode inference;
        return t.mul(2);
      });
  const Tensor x = randn({3}).requires_grad_();
  EXPECT_THAT(errorOf([&] { x.sigmoid(); }), HasSubstr("Inference tensors cannot be saved for backward"));
}

struct NodeOfMany : Node {
  autograd::variable_list apply(autograd::variable_list&& grads) override { return std::move(grads); }
};

TEST(Node, DescribesEveryOutput) {
  const auto node = make_intrusive<NodeOfMany>();
  const std::vector<Tensor> outputs = {randn({2}), randn({1, 2, 3, 4, 5}), zeros({}, kDouble), randn({0}),
                                       randn({7, 8})};
  for (size_t i = 0; i < outputs.size(); ++i) EXPECT_EQ(node->add_input_metadata(outputs[i]), i);
  EXPECT_EQ(node->add_undefined_input(), 5u);
  node->add_pre_hook([](const autograd::variable_list& grads) { return grads; });
  ASSERT_EQ(node->num_inputs(), 6u);
  for (uint32_t i = 0; i < 5; ++i) {
    const autograd::InputMetadata& said = node->input_metadata(i);
    EXPECT_EQ(said.sizes(), outputs[i].sizes());
    EXPECT_EQ(said.dtype(), outputs[i].dtype());
    EXPECT_EQ(said.device(), outputs[i].device());
  }
  EXPECT_TRUE(node->input_metadata(5).is_undefined());
  node->clear_input_metadata();
  EXPECT_EQ(node->num_inputs(), 0u);
  EXPECT_EQ(node->add_input_metadata(outputs[1]), 0u);
  EXPECT_EQ(node->add_input_metadata(outputs[0]), 1u);
  EXPECT_EQ(node->input_metadata(0).sizes(), outputs[1].sizes());
  EXPECT_EQ(node->input_metadata(1).sizes(), outputs[0].sizes());
  ASSERT_NE(node->hooks(), nullptr);
  EXPECT_EQ(node->hooks()->pre.size(), 1u);
}

}  // namespace
}  // namespace shunt::test
