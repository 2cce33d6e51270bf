// Versions and views, with and without gradient: whoever handles a call, it is counted once.
#include <shunt/shunt.h>

#include <gtest/gtest.h>

#include <functional>

namespace shunt {
namespace {

struct Written {
  const char* name;
  std::function<void(Tensor&)> run;
};
const Written kWriters[] = {
    {"add_", [](Tensor& t) { t.add_(1); }},           {"mul_", [](Tensor& t) { t.mul_(t); }},
    {"zero_", [](Tensor& t) { t.zero_(); }},          {"fill_", [](Tensor& t) { t.fill_(2); }},
    {"copy_", [](Tensor& t) { t.copy_(ones({2})); }}, {"relu_", [](Tensor& t) { t.relu_(); }},
};

TEST(InplaceOrView, EveryWriteBumpsTheVersionOnce) {
  for (const Written& w : kWriters) {
    Tensor plain = ones({2});
    w.run(plain);
    EXPECT_EQ(plain._version(), 1) << w.name;

    Tensor recorded = ones({2}, requires_grad()).clone();
    const int64_t before = recorded._version();
    w.run(recorded);
    EXPECT_EQ(recorded._version(), before + 1) << w.name << " with gradient";
    recorded.detach_();  // some writers take it as their own operand: a cycle, as in PyTorch

    NoGradGuard no_grad;
    Tensor leaf = ones({2}, requires_grad());
    w.run(leaf);
    EXPECT_EQ(leaf._version(), 1) << w.name << " on a leaf without grad mode";
  }
}

TEST(InplaceOrView, OutBumpsTheVersion) {
  Tensor out = empty({2});
  add_out(out, ones({2}), ones({2}));
  EXPECT_EQ(out._version(), 1);
}

TEST(InplaceOrView, ViewsShareTheVersion) {
  for (const bool grad : {false, true}) {
    const Tensor base = grad ? ones({2, 2}, requires_grad()).clone() : ones({2, 2});
    const int64_t before = base._version();
    base.view({4}).add_(1);
    base.t()[0].mul_(2);
    base.detach().zero_();
    EXPECT_EQ(base._version(), before + 3);
    EXPECT_TRUE(base.select(0, 1).is_view());
    EXPECT_TRUE(base.view({4})._base().is_same(base));
  }
}

TEST(InplaceOrView, InferenceTensorsAreReadOnlyOutside) {
  Tensor t;
  {
    InferenceMode mode;
    t = ones({2});
    t.add_(1);
  }
  EXPECT_THROW(t.add_(1), Error);
  EXPECT_THROW(add_out(t, ones({2}), ones({2})), Error);
  EXPECT_EQ(t[0].item<float>(), 2.0f) << "changed although refused";
}

TEST(InplaceOrView, InferenceModeStillCountsWritesToNormalTensors) {
  Tensor t = ones({2});
  InferenceMode mode;
  t.add_(1);
  EXPECT_EQ(t._version(), 1);
}

}  // namespace
}  // namespace shunt
