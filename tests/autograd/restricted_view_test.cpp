// Views that can't follow their base: made in inference mode or by operators that return several. And what inference
// mode leaves alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/autograd/util.h"

namespace shunt::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(RestrictedView, MadeInInferenceModeRefusesAsItsNoGradTwin) {
  const Tensor w = leaf({7, 7});
  for (const bool inference : {true, false}) {
    Tensor base = tensorOf({1, 2}), v;
    if (inference) {
      InferenceMode mode;
      v = base.view({2, 1});
    } else {
      NoGradGuard off;
      v = base.view({2, 1});
    }
    base.mul_(w);
    EXPECT_TRUE(v.requires_grad());
    EXPECT_TRUE(v.is_leaf());
    EXPECT_EQ(values(v), (Values{7, 14}));
    const char* mode = inference ? "created in inference mode" : "created in no_grad mode";
    EXPECT_THAT(errorOf([&] { v.sum(); }), AllOf(HasSubstr(mode), HasSubstr("its base or another view of its base")));
    EXPECT_THAT(errorOf([&] { v.mul_(2); }), HasSubstr(mode));
  }
}

TEST(RestrictedView, OfSeveralRefusesToBeUsedAfterItsBaseChanged) {
  const Tensor x = leaf({1, 2});
  Tensor base = x.mul(3);
  const Tensor part = base.split(1)[1], other = base.unbind()[0], of_part = part.view({1, 1});
  base.mul_(2);
  EXPECT_THAT(errorOf([&] { part.sum(); }),
              AllOf(HasSubstr("Output 1 of SplitBackward0"), HasSubstr("multiple views")));
  EXPECT_THAT(errorOf([&] { other.sum(); }),
              AllOf(HasSubstr("Output 0 of UnbindBackward0"), HasSubstr("multiple views")));
  EXPECT_THAT(errorOf([&] { of_part.sum(); }), HasSubstr("multiple views"));
  EXPECT_FALSE(part.is_leaf());
  EXPECT_EQ(values(part.detach()), (Values{12}));
  base.unbind()[1].sum().backward();
  EXPECT_EQ(values(x.grad()), (Values{0, 6}));
}

TEST(RestrictedView, IsLeafNeverThrows) {
  const Tensor w = leaf({7, 7});
  Tensor base = tensorOf({1, 2});
  const Tensor v = base.view({2, 1}), part = base.unbind()[0];
  EXPECT_TRUE(v.is_leaf());
  base.mul_(w);
  EXPECT_FALSE(v.is_leaf());
  EXPECT_TRUE(part.is_leaf());
  EXPECT_EQ(v.grad_fn()->name(), "AsStridedBackward0");
  const auto f = [&](const Tensor& x) {
    Tensor written = x * 2;
    const Tensor view = written.unbind()[0];
    written.mul_(w);
    EXPECT_TRUE(view.is_leaf()) << "of a wrapper that stands for it";
    return written;
  };
  trace(f, tensorOf({1, 2}));
}

TEST(InferenceModeGraph, DetachInPlaceLeavesGraphsAlone) {
  const Tensor x = leaf({1, 2});
  Tensor y = x.mul(2), v = y.view({2, 1});
  {
    InferenceMode mode;
    y.detach_();
    v.detach_();
  }
  EXPECT_TRUE(y.requires_grad());
  v.sum().backward();
  EXPECT_EQ(values(x.grad()), (Values{2, 2}));
}

TEST(InferenceModeGraph, SetDataTakesInferenceTensorsAndGivesToThem) {
  Tensor made;
  {
    InferenceMode mode;
    made = tensorOf({5, 6, 7});
    const Tensor x = leaf({1, 2});
    x.set_data(made);
    EXPECT_TRUE(x.requires_grad());
    EXPECT_EQ(values(x), (Values{5, 6, 7}));
  }
  const Tensor x = leaf({1, 2});
  x.set_data(made);
  EXPECT_FALSE(x.is_inference());
  x.mul(x).sum().backward();
  EXPECT_EQ(values(x.grad()), (Values{10, 12, 14}));
  {
    NoGradGuard off;
    x.mul_(2);
  }
  EXPECT_EQ(x._version(), 1);
  made.set_data(tensorOf({1}));
  EXPECT_TRUE(made.is_inference());
  EXPECT_EQ(values(made), (Values{1}));
}

}  // namespace
}  // namespace shunt::test
