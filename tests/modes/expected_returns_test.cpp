// What a handler's results are held against: each clause of Note [What handlers return], with a case on either side of
// it.
#include "tests/modes/recorder.h"
#include "tests/support/error_of.h"
#include "tests/support/wrapper.h"

#include <shunt/shunt.h>
#include <shunt/transforms/fake_tensor.h>
#include <shunt/transforms/functionalize.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shunt {
namespace {

using test::errorOf;
using test::Free;
using test::KernelRecorder;
using test::Recorder;
using test::Wrapper;
using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kNoError = "no error";

class ExpectedReturnsTest : public testing::Test {
 protected:
  /// The message of `call` under a mode that does `handler`.
  template <class Mode = Recorder>
  std::string under(Recorder::Handler handler, const std::function<void()>& call) {
    Mode mode(log, "Answers", std::move(handler));
    const DispatchModeGuard guard(mode);
    return errorOf(call);
  }
  /// The same where the handler answers with `result`.
  template <class Mode = Recorder>
  std::string answering(const Tensor& result, const std::function<void()>& call) {
    return under<Mode>([&](const OperatorHandle&, Stack* stack) { *stack = {result}; }, call);
  }
  static auto lost() {
    return AllOf(HasSubstr("the handler of Recorder Answers"), HasSubstr("does not require grad"), HasSubstr("kKernel"),
                 HasSubstr("results_may_differ"));
  }
  static auto differs(const char* expected, const char* got) {
    return AllOf(HasSubstr("the handler of Recorder Answers"), HasSubstr("results_may_differ"),
                 HasSubstr(std::string("expected ") + expected + ", got " + got));
  }

  std::vector<std::string> log;
  Tensor x = randn({2, 3}), w = randn({3, 4}).requires_grad_();
  Tensor v = w.detach(), one = ones({1, 4}), factor = w.sum();
  Tensor other = randn({2, 4});  // of the product's shape, without a graph
};

// ---- gradients at kCall --------------------------------------------------------------------------------------------
TEST_F(ExpectedReturnsTest, ALostGradientIsAnError) {
  EXPECT_THAT(answering(other, [&] { x.mm(w); }), AllOf(HasSubstr("aten::mm"), lost()));
  EXPECT_THAT(answering(other, [&] { x.matmul(w); }), lost()) << "a composite";
  EXPECT_THAT(answering(zeros({4, 4}), [&] { cat({one, w}); }), lost()) << "in a list";
}

TEST_F(ExpectedReturnsTest, AGradientThatTheHandlersOperatorsRecordIsNone) {
  const auto handler = [](const OperatorHandle&, Stack* stack) {
    const Tensor a = (*stack)[0].toTensor(), b = (*stack)[1].toTensor();
    *stack = {(a.unsqueeze(2) * b.unsqueeze(0)).sum({1})};
  };
  EXPECT_EQ(under(handler, [&] { x.mm(w); }), kNoError);
}

TEST_F(ExpectedReturnsTest, NoneIsLostWithGradModeOff) {
  EXPECT_EQ(answering(other,
                      [&] {
                        const NoGradGuard no_grad;
                        x.mm(w);
                      }),
            kNoError);
  EXPECT_EQ(answering(other,
                      [&] {
                        const InferenceMode inference;
                        x.mm(w);
                      }),
            kNoError);
  EXPECT_EQ(answering(other,
                      [&] {
                        const AutoDispatchBelowAutograd below;
                        x.mm(w);
                      }),
            kNoError);
}

TEST_F(ExpectedReturnsTest, NoneIsLostWhereNoArgumentRequiresGrad) {
  EXPECT_EQ(answering(other, [&] { x.mm(v); }), kNoError);
}

TEST_F(ExpectedReturnsTest, NoneIsLostOfAnOutputWithoutDerivative) {
  EXPECT_EQ(answering(zeros({3, 4}), [&] { w.detach(); }), kNoError);
  EXPECT_EQ(answering(zeros({3, 4}), [&] { zeros_like(w); }), kNoError);
  // One of several: mean and inverse standard deviation have none.
  const auto handler = [](const OperatorHandle& op, Stack* stack) {
    op.callBoxed(stack);
    stack->back() = stack->back().toTensor().clone();
  };
  EXPECT_EQ(under(handler, [&] { w.max(1); }), kNoError);
}

TEST_F(ExpectedReturnsTest, NoneIsLostOfAnIntegerOutput) {
  EXPECT_EQ(answering(zeros({3}, kLong), [&] { w.argmax(1); }), kNoError);
  EXPECT_EQ(answering(zeros({3, 4}, kBool), [&] { w.eq(w); }), kNoError);
  // Of two outputs only the floating one counts.
  const auto lose_one = [](size_t which) {
    return [which](const OperatorHandle& op, Stack* stack) {
      op.callBoxed(stack);
      (*stack)[which] = (*stack)[which].toTensor().detach();
    };
  };
  EXPECT_THAT(under(lose_one(0), [&] { w.max(1); }), AllOf(lost(), HasSubstr("as return 1")));
  EXPECT_EQ(under(lose_one(1), [&] { w.max(1); }), kNoError);
}

TEST_F(ExpectedReturnsTest, AModeMaySayThatItMeansIt) {
  EXPECT_EQ(answering<Free<Recorder>>(other, [&] { x.mm(w); }), kNoError);
  EXPECT_EQ(answering<Free<Recorder>>(zeros({7}, kDouble), [&] { x.mm(w); }), kNoError);
}

TEST_F(ExpectedReturnsTest, ACallPassedOnUnderOtherSettingsIsTheHandlersOwn) {
  const auto without_grad = [](const OperatorHandle& op, Stack* stack) {
    const NoGradGuard no_grad;
    op.callBoxed(stack);
  };
  EXPECT_THAT(under(without_grad, [&] { x.mm(w); }), lost());
  const auto cut_off = [](const OperatorHandle& op, Stack* stack) {
    op.callBoxed(stack);
    stack->back() = stack->back().toTensor().detach();
  };
  EXPECT_THAT(under(cut_off, [&] { x.mm(w); }), lost());
  const auto of_others = [](const OperatorHandle& op, Stack* stack) {
    (*stack)[1] = (*stack)[1].toTensor().detach();
    op.callBoxed(stack);
  };
  EXPECT_THAT(under(of_others, [&] { x.mm(w); }), lost());
}

TEST_F(ExpectedReturnsTest, InPlaceOperatorsToo) {
  const auto write_numbers = [](const OperatorHandle&, Stack* stack) {
    const Tensor self = (*stack)[0].toTensor();
    std::fill_n(self.data_ptr<float>(), self.numel(), 1.0f);
    *stack = {self};
  };
  Tensor y = x.clone();
  EXPECT_THAT(under(write_numbers, [&] { y.mul_(factor); }), lost());
  EXPECT_EQ(under(write_numbers, [&] { y.mul_(2); }), kNoError);
  // Which shape it has now, the handler has decided.
  const auto transpose = [](const OperatorHandle&, Stack* stack) {
    Tensor self = (*stack)[0].toTensor();
    self.t_();
    *stack = {self};
  };
  EXPECT_EQ(under(transpose, [&] { y.t_(); }), kNoError);
}

TEST_F(ExpectedReturnsTest, CustomOperators) {
  Library def(Library::Kind::kDef, "returns_test");
  def.def("plain(Tensor x) -> Tensor");  // no derivative: its default node would throw in backward
  def.impl("plain", DispatchKey::CPU, [](const Tensor& t) { return t.clone(); });
  def.def("graded(Tensor x) -> Tensor");  // a derivative, and no Meta kernel
  def.impl("graded", DispatchKey::CPU, [](const Tensor& t) { return t.clone(); });
  def.impl("graded", DispatchKey::Autograd, [](const Tensor& t) { return t * 1; });
  const auto call = [&](const char* name, const Tensor& t) {
    return [name, t] { Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Tensor(const Tensor&)>().call(t); };
  };
  EXPECT_EQ(answering(zeros({3, 4}), call("returns_test::plain", w)), kNoError);
  EXPECT_THAT(answering(zeros({3, 4}), call("returns_test::graded", w)), lost());
  EXPECT_EQ(answering(zeros({3, 4}), call("returns_test::graded", v)), kNoError);
  EXPECT_EQ(answering(zeros({7}), call("returns_test::plain", x)), kNoError) << "no Meta kernel: not compared";
}

TEST_F(ExpectedReturnsTest, OfWrappersOnlyGradientsAreLookedFor) {
  const Tensor wrapped = wrap<Wrapper>(w), plain = wrap<Wrapper>(x);
  EXPECT_THAT(answering(other, [&] { plain.mm(wrapped); }), lost());
  EXPECT_EQ(answering(zeros({9}), [&] { plain.relu(); }), kNoError) << "the class decides which shape that has";
  const Tensor functional = to_functional(x);
  EXPECT_THAT(answering(zeros({9}), [&] { functional.relu(); }), differs("Float [2, 3]", "Float [9]"));
}

// ---- dtype and shape -----------------------------------------------------------------------------------------------
TEST_F(ExpectedReturnsTest, AnotherShapeOrDtypeIsAnError) {
  EXPECT_THAT(answering(randn({4, 2}), [&] { x.mm(v); }), differs("Float [2, 4]", "Float [4, 2]"));
  EXPECT_THAT(answering(other.to(kDouble), [&] { x.mm(v); }), differs("Float [2, 4]", "Double [2, 4]"));
  EXPECT_THAT(answering(zeros({2}), [&] { x.matmul(v); }), differs("Float [2, 4]", "Float [2]")) << "a composite";
  EXPECT_THAT(answering(zeros({4}), [&] { zeros({3}); }), differs("Float [3]", "Float [4]")) << "a factory";
  EXPECT_THAT(answering(Tensor(), [&] { x.relu(); }), differs("Float [2, 3]", "an undefined tensor"));
  EXPECT_THAT(answering<KernelRecorder>(randn({4, 2}), [&] { x.mm(w); }), differs("Float [2, 4]", "Float [4, 2]"));
}

TEST_F(ExpectedReturnsTest, ACallPassedOnAndThenAnsweredOtherwise) {
  const auto handler = [&](const OperatorHandle& op, Stack* stack) {
    op.callBoxed(stack);
    *stack = {zeros({2})};
  };
  EXPECT_THAT(under(handler, [&] { x.relu(); }), differs("Float [2, 3]", "Float [2]"));
}

TEST_F(ExpectedReturnsTest, ListsOfTensors) {
  const auto handler = [](std::vector<Tensor> list) {
    return [list](const OperatorHandle&, Stack* stack) { *stack = {IValue(list)}; };
  };
  const Tensor row = zeros({1, 3});
  EXPECT_EQ(under(handler({row, row}), [&] { x.split(1); }), kNoError);
  EXPECT_THAT(under(handler({row, zeros({3})}), [&] { x.split(1); }), differs("Float [1, 3]", "Float [3]"));
  EXPECT_THAT(under(handler({row}), [&] { x.split(1); }), HasSubstr("a shorter list"));
  EXPECT_THAT(under(handler({row, row, row}), [&] { x.split(1); }), HasSubstr("a list of fewer tensors"));
}

TEST_F(ExpectedReturnsTest, WhatDependsOnElementsIsNotCompared) {
  const Tensor start = zeros({}, kLong);
  EXPECT_EQ(answering(zeros({7}), [&] { x.narrow(0, start, 1); }), kNoError);
}

TEST_F(ExpectedReturnsTest, UnderAutocastTheLowerPrecisionIsExpected) {
  const auto call = [&] {
    const AutocastGuard autocast(kCPU, kBFloat16);
    x.mm(v);
  };
  EXPECT_THAT(answering(other, call), differs("BFloat16 [2, 4]", "Float [2, 4]"));
  EXPECT_EQ(answering(other.to(kBFloat16), call), kNoError);
}

TEST_F(ExpectedReturnsTest, OfFakeTensors) {
  const Tensor real = ones({3});
  FakeTensorMode fake;
  const Tensor fx = fake.from_tensor(x), right = empty({2, 3}), wrong = empty({3});
  EXPECT_EQ(answering(right, [&] { fx.relu(); }), kNoError);
  EXPECT_THAT(answering(wrong, [&] { fx.relu(); }), differs("Float [2, 3]", "Float [3]"));
  EXPECT_THAT(answering<KernelRecorder>(real, [&] { fx.relu(); }), differs("Float [2, 3]", "Float [3]"));
}

TEST_F(ExpectedReturnsTest, AtKernelAnArgumentIsNoResult) {
  const auto nothing = [](const OperatorHandle&, Stack*) {};
  EXPECT_THAT(under<KernelRecorder>(nothing, [&] { w.relu(); }), HasSubstr("left an argument as return 1"));
  EXPECT_TRUE(w.is_leaf());
  EXPECT_EQ(under(nothing, [&] { w.relu(); }), kNoError) << "at kCall it is the result";
}

TEST_F(ExpectedReturnsTest, FindingOutLeavesNoTrace) {
  manual_seed(7);
  const Tensor first = randn({3});
  manual_seed(7);
  const AutocastGuard autocast(kCPU, kBFloat16);
  x.mm(w);
  const auto casts = autocast::cache_stats();
  const auto version = x._version();
  Recorder mode(log, "", [&](const OperatorHandle& op, Stack* stack) {
    const std::string name = op.operator_name().str();
    *stack = {name == "aten::mm" ? other.to(kBFloat16) * w.sum().to(kBFloat16) : zeros({2, 3})};
  });
  {
    const DispatchModeGuard guard(mode);
    x.mm(w);
    rand_like(x);
  }
  EXPECT_EQ(log.size(), 2u) << "nor does the mode see it";
  EXPECT_EQ(autocast::cache_stats().misses, casts.misses);
  EXPECT_EQ(autocast::cache_stats().entries, casts.entries);
  EXPECT_EQ(x._version(), version);
  EXPECT_TRUE(randn({3}).eq(first).all().item<bool>()) << "the generator is where it was";
}

}  // namespace
}  // namespace shunt
