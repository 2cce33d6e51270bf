// Anomaly mode: what is said of a node whose backward fails or makes NaNs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/autograd/util.h"

#include <shunt/autograd/anomaly_mode.h>

namespace shunt::test {
namespace {

using autograd::AnomalyMode;
using autograd::DetectAnomalyGuard;
using autograd::variable_list;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::vector<std::string> warnings;
std::string here = "nowhere";

class Anomaly : public testing::Test {
 protected:
  Anomaly() {
    warnings.clear();
    autograd::set_forward_places(
        {[]() -> std::shared_ptr<void> { return std::make_shared<std::string>(here); },
         [](const std::shared_ptr<void>& captured) { return *static_cast<const std::string*>(captured.get()); }});
  }
  ~Anomaly() override {
    set_log_sink(sink_);
    autograd::set_forward_places({});
  }

  const LogSink sink_ = set_log_sink([](LogLevel, const char* message) { warnings.push_back(message); });
};

Tensor failing(const Tensor& x) { return applyNode<ThrowingNode>({x}, x.detach().clone()); }

TEST_F(Anomaly, TellsWhereTheForwardCallWas) {
  const DetectAnomalyGuard guard;
  const Tensor x = leaf({1});
  here = "line 12";
  const Tensor y = failing(x);
  here = "line 13";
  const Tensor z = y.mul(2).sum();
  EXPECT_THAT(errorOf([&] { z.backward(); }), HasSubstr("from inside a node"));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0],
              AllOf(HasSubstr("Error detected in ThrowingNode"), HasSubstr("line 12"), Not(HasSubstr("line 13"))));
}

TEST_F(Anomaly, TellsOfTheCallThatRecordedTheNodeInABackwardPass) {
  const DetectAnomalyGuard guard;
  struct RecordsFailing : Node {
    variable_list apply(variable_list&& grads) override {
      here = "the gradient of line 20";
      return {failing(grads[0])};
    }
  };
  const Tensor x = leaf({1});
  here = "line 20";
  const Tensor y = applyNode<RecordsFailing>({x}, x.detach().clone());
  const Tensor seed = leaf({1});
  const Tensor dx = autograd::grad({y}, {x}, {seed}, true, true)[0];
  EXPECT_THAT(errorOf([&] { autograd::grad({dx}, {seed}); }), HasSubstr("from inside a node"));
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_THAT(warnings[0], AllOf(HasSubstr("Error detected in ThrowingNode"), HasSubstr(":\nthe gradient of line 20")));
  EXPECT_THAT(warnings[1],
              AllOf(HasSubstr("Previous calculation was induced by"), HasSubstr("RecordsFailing"),
                    HasSubstr("Traceback of forward call that induced the previous calculation:\nline 20")));
}

TEST_F(Anomaly, FindsNans) {
  const Tensor x = leaf({-1});
  here = "the root";
  DetectAnomalyGuard guard;
  const Tensor y = x.sqrt().sum();
  EXPECT_THAT(errorOf([&] { y.backward({}, true); }),
              HasSubstr("Function 'SqrtBackward0' returned nan values in its 0th output."));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], AllOf(HasSubstr("Error detected in SqrtBackward0"), HasSubstr("the root")));
  EXPECT_FALSE(x.grad().defined());
  {
    const DetectAnomalyGuard without(false);
    y.backward();
  }
  EXPECT_TRUE(std::isnan(values(x.grad())[0]));
  EXPECT_TRUE(AnomalyMode::should_check_nan());
}

TEST_F(Anomaly, OutsideOfTheModeNothingIsKept) {
  const Tensor x = leaf({1});
  EXPECT_EQ(x.mul(2).grad_fn()->forward_place(), nullptr);
  const Tensor y = failing(x);
  EXPECT_THAT(errorOf([&] { y.backward(); }), HasSubstr("from inside a node"));
  EXPECT_THAT(warnings, IsEmpty());
  const DetectAnomalyGuard guard;
  EXPECT_THAT(errorOf([&] { failing(x).mul(y).sum().backward(); }), HasSubstr("from inside a node"));
  EXPECT_THAT(errorOf([&] { y.backward(); }), HasSubstr("from inside a node"));
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_THAT(warnings[1], HasSubstr("No forward pass information available"));
}

TEST_F(Anomaly, WhatTheHookThrowsEndsTheForwardCall) {
  autograd::set_forward_places({[]() -> std::shared_ptr<void> { throw std::runtime_error("no frames"); }, nullptr});
  const DetectAnomalyGuard guard;
  const Tensor x = leaf({1});
  EXPECT_THAT(errorOf<std::runtime_error>([&] { x.mul(2); }), HasSubstr("no frames"));
}

}  // namespace
}  // namespace shunt::test
