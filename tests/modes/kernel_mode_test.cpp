// Modes at kKernel: where they stand, what they see, and that gradients and casts go on above them.
#include "tests/modes/recorder.h"
#include "tests/support/error_of.h"
#include "tests/support/wrapper.h"

#include <shunt/shunt.h>
#include <shunt/transforms/fake_tensor.h>
#include <shunt/transforms/functionalize.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

namespace shunt {
namespace {

using test::errorOf;
using test::KernelRecorder;
using test::Recorder;
using test::Wrapper;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

bool isProduct(const OperatorHandle& op) { return op.operator_name().str() == "aten::mm"; }

/// mm by other means: no operator in it records anything, so its result has no graph.
Tensor product(const Tensor& a, const Tensor& b) { return (a.unsqueeze(2) * b.unsqueeze(0)).sum({1}); }

void replaceProducts(const OperatorHandle& op, Stack* stack) {
  if (!isProduct(op)) return op.callBoxed(stack);
  const Tensor result = product((*stack)[0].toTensor(), (*stack)[1].toTensor());
  *stack = {result};
}

class KernelModes : public testing::Test {
 protected:
  KernelModes() : before(detail::tls_state) {}
  ~KernelModes() override {
    EXPECT_EQ(active_dispatch_modes(), 0);
    EXPECT_EQ(detail::tls_state.included, before.included);
    EXPECT_EQ(detail::tls_state.excluded, before.excluded);
    EXPECT_EQ(detail::tls_state.user_excluded, before.user_excluded);
  }
  detail::LocalState before;
  std::vector<std::string> log;
  Tensor x = randn({2, 3}), w = randn({3, 4}).requires_grad_(), b = randn({4}).requires_grad_();
};

// ---- what they see -------------------------------------------------------------------------------------------------
TEST_F(KernelModes, AreOfferedTheOperatorsThatCompositesCall) {
  KernelRecorder mode(log);
  const DispatchModeGuard guard(mode);
  EXPECT_EQ(active_dispatch_modes(), 1);
  linear(x, w.t(), b);
  EXPECT_THAT(log, Not(Contains("aten::linear")));
  EXPECT_THAT(log, Contains(testing::AnyOf("aten::addmm", "aten::mm")));
  log.clear();
  x.matmul(w);
  EXPECT_THAT(log, ElementsAre("aten::mm"));
}

TEST_F(KernelModes, AreOfferedCompositesOfUsersInParts) {
  Library def(Library::Kind::kDef, "kernel_mode_test");
  def.def("twice(Tensor x) -> Tensor", [](const Tensor& t) { return t + t; });
  def.def("thrice(Tensor x) -> Tensor");
  def.impl("thrice", DispatchKey::CompositeExplicitAutograd, [](const Tensor& t) { return t + t + t; });
  const auto call = [&](const char* name) {
    Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Tensor(const Tensor&)>().call(x);
  };
  KernelRecorder mode(log);
  const DispatchModeGuard guard(mode);
  call("kernel_mode_test::twice");
  EXPECT_THAT(log, ElementsAre("aten::add.Tensor"));
  log.clear();
  call("kernel_mode_test::thrice");
  EXPECT_THAT(log, ElementsAre("kernel_mode_test::thrice")) << "CompositeExplicit: a kernel for every backend";
}

TEST_F(KernelModes, SeeFactoriesAndItem) {
  KernelRecorder mode(log);
  const DispatchModeGuard guard(mode);
  const Tensor made = empty({2}), full_one = full({1}, 7.0);
  EXPECT_THAT(log, Contains("aten::empty.memory_format"));
  log.clear();
  EXPECT_EQ(full_one.item<float>(), 7);
  EXPECT_THAT(log, ElementsAre("aten::_local_scalar_dense"));
}

TEST_F(KernelModes, SeeBackwardsOperators) {
  const Tensor loss = x.mm(w).sum();
  KernelRecorder mode(log);
  const DispatchModeGuard guard(mode);
  loss.backward();
  EXPECT_THAT(log, Contains("aten::mm"));
}

TEST_F(KernelModes, GetArgumentsAsAutocastCastsThem) {
  std::vector<ScalarType> dtypes;
  KernelRecorder mode(log, "", [&](const OperatorHandle& op, Stack* stack) {
    if (isProduct(op)) dtypes = {(*stack)[0].toTensor().dtype(), (*stack)[1].toTensor().dtype()};
    op.callBoxed(stack);
  });
  const DispatchModeGuard guard(mode);
  const AutocastGuard autocast(kCPU, kBFloat16);
  EXPECT_EQ(x.mm(w).dtype(), kBFloat16);
  EXPECT_THAT(dtypes, ElementsAre(kBFloat16, kBFloat16));
}

// ---- what they return ----------------------------------------------------------------------------------------------
TEST_F(KernelModes, WhatTheyReplaceKeepsItsGradient) {
  const auto gradients = [&] {
    Tensor v = w.detach().clone().requires_grad_(), c = b.detach().clone().requires_grad_();
    Tensor y = x.mm(v) + c;
    EXPECT_EQ(y.grad_fn()->name(), "AddBackward0");
    (y * y).sum().backward();
    return std::vector<Tensor>{v.grad(), c.grad()};
  };
  const std::vector<Tensor> native = gradients();
  KernelRecorder mode(log, "", &replaceProducts);
  const DispatchModeGuard guard(mode);
  const std::vector<Tensor> own = gradients();
  ASSERT_TRUE(own[0].defined() && own[1].defined());
  // Sums of three products in another order: a few roundings of float, relative to the largest element.
  for (size_t i = 0; i < 2; ++i)
    EXPECT_LE(((own[i] - native[i]).abs().max() / native[i].abs().max()).item<float>(), 1e-5f);
  EXPECT_GE(std::count(log.begin(), log.end(), "aten::mm"), 2) << "forward and backward";
}

TEST_F(KernelModes, WhatTheyReplaceUnderAutocastGetsAndReturnsTheLowerPrecision) {
  const auto train = [&] {
    Tensor v = w.detach().clone().requires_grad_(), y;
    {
      const AutocastGuard autocast(kCPU, kBFloat16);
      y = x.mm(v);
    }
    EXPECT_EQ(y.dtype(), kBFloat16);
    y.sum().backward();
    return v.grad();
  };
  const Tensor native = train();
  KernelRecorder mode(log, "", &replaceProducts);
  const DispatchModeGuard guard(mode);
  const Tensor own = train();
  EXPECT_EQ(own.dtype(), kFloat);
  // bfloat16 has 8 bits; sums of two products.
  EXPECT_LE(((own - native).abs().max() / native.abs().max()).item<float>(), 0x1p-6f);
}

TEST_F(KernelModes, HandlersCallsAreNeitherRecordedNorCast) {
  bool recorded = true;
  ScalarType dtype = kInt;
  KernelRecorder mode(log, "", [&](const OperatorHandle& op, Stack* stack) {
    recorded = (w * 2).requires_grad();
    dtype = x.mm(w).dtype();
    op.callBoxed(stack);
  });
  const DispatchModeGuard guard(mode);
  const AutocastGuard autocast(kCPU, kBFloat16);
  x.relu();
  EXPECT_FALSE(recorded);
  EXPECT_EQ(dtype, kFloat);
}

TEST_F(KernelModes, InPlaceAndViewsAreKeptBookOfAboveThem) {
  KernelRecorder mode(log);
  const DispatchModeGuard guard(mode);
  Tensor y = x.clone();
  const Tensor row = y.select(0, 1);
  EXPECT_TRUE(row.is_view());
  EXPECT_TRUE(row._base().is_same(y));
  const auto version = y._version();
  y.add_(1);
  EXPECT_EQ(row._version(), version + 1);
  Tensor z = (w * 1).exp_();
  EXPECT_EQ(z.grad_fn()->name(), "ExpBackward0");
  Tensor saved = w.exp();
  saved.add_(1);
  EXPECT_THAT(errorOf([&] { saved.sum().backward(); }), HasSubstr("modified by an inplace operation"));
}

TEST_F(KernelModes, ResultsAreThoseWithoutThem) {
  const auto run = [&] {
    Tensor v = w.detach().clone().requires_grad_();
    const Tensor z = (linear(x, v.t(), b.detach()).relu() * 2).softmax(1);
    const auto [values, indices] = z.max(1);
    (values.sum() + z.pow(2).mean()).backward();
    return std::vector<Tensor>{z.detach(), values.detach(), indices, v.grad()};
  };
  const auto plain = run();
  KernelRecorder mode(log);
  const DispatchModeGuard guard(mode);
  const auto under = run();
  for (size_t i = 0; i < plain.size(); ++i) EXPECT_TRUE(plain[i].eq(under[i]).all().item<bool>()) << i;
}

// ---- nesting -------------------------------------------------------------------------------------------------------
TEST_F(KernelModes, OfTwoTheInnerOneIsAskedFirst) {
  KernelRecorder outer(log, "outer "), inner(log, "inner ");
  const DispatchModeGuard first(outer), second(inner);
  x.relu();
  EXPECT_THAT(log, ElementsAre("inner aten::relu", "outer aten::relu"));
}

TEST_F(KernelModes, ComeAfterThoseAtCallWhicheverIsEnteredFirst) {
  Recorder call(log, "call ");
  KernelRecorder kernel(log, "kernel ");
  for (const bool call_first : {true, false}) {
    log.clear();
    const DispatchModeGuard first(call_first ? static_cast<DispatchMode&>(call) : kernel);
    const DispatchModeGuard second(call_first ? static_cast<DispatchMode&>(kernel) : call);
    EXPECT_EQ(active_dispatch_modes(), 2);
    x.matmul(w);
    EXPECT_THAT(log, ElementsAre("call aten::matmul", "kernel aten::mm"));
  }
}

TEST_F(KernelModes, AHandlersOwnCallsGoBelowIt) {
  KernelRecorder outer(log, "outer ");
  KernelRecorder inner(log, "inner ", [&](const OperatorHandle& op, Stack* stack) {
    x.exp();
    op.callBoxed(stack);
  });
  Recorder call(log, "call ", [&](const OperatorHandle& op, Stack* stack) {
    x.abs();
    op.callBoxed(stack);
  });
  const DispatchModeGuard first(outer), second(inner), third(call);
  x.relu();
  EXPECT_THAT(log, ElementsAre("call aten::relu", "inner aten::abs", "outer aten::exp", "outer aten::abs",
                               "inner aten::relu", "outer aten::exp", "outer aten::relu"));
}

TEST_F(KernelModes, AHandlerMayEnterAnotherModeOfEitherLevel) {
  Recorder call(log, "call ");
  KernelRecorder kernel(log, "kernel ");
  KernelRecorder mode(log, "", [&](const OperatorHandle& op, Stack* stack) {
    const DispatchModeGuard first(call), second(kernel);
    op.callBoxed(stack);
  });
  const DispatchModeGuard guard(mode);
  x.relu();
  EXPECT_THAT(log, ElementsAre("aten::relu", "call aten::relu", "kernel aten::relu"));
}

TEST_F(KernelModes, EnteringItselfInItsHandlerIsAnError) {
  KernelRecorder* self = nullptr;
  KernelRecorder mode(log, "selfish", [&](const OperatorHandle& op, Stack* stack) {
    const DispatchModeGuard again(*self);
    op.callBoxed(stack);
  });
  self = &mode;
  const DispatchModeGuard guard(mode);
  EXPECT_THAT(errorOf([&] { x.relu(); }), HasSubstr("Recorder selfish is entered inside its own handler"));
}

TEST_F(KernelModes, ExceptionsLeaveTheThreadAsItWas) {
  KernelRecorder outer(log);
  bool fail = true;
  KernelRecorder inner(log, "", [&](const OperatorHandle& op, Stack* stack) {
    op.callBoxed(stack);
    if (fail) throw std::runtime_error("the handler's");
  });
  const DispatchModeGuard first(outer), second(inner);
  const auto excluded = tls_excluded(), included = tls_included();
  EXPECT_THROW(w.relu(), std::runtime_error);
  EXPECT_THAT(errorOf([&] { x.mm(x); }), HasSubstr("mm")) << "the operator's own error";
  EXPECT_EQ(tls_excluded(), excluded);
  EXPECT_EQ(tls_included(), included);
  fail = false;
  EXPECT_TRUE(w.relu().requires_grad());
}

TEST_F(KernelModes, AreAThreadsOwn) {
  KernelRecorder mode(log), theirs_mode(log);
  const DispatchModeGuard guard(mode);
  std::vector<std::string> theirs;
  std::thread([&] {
    EXPECT_EQ(active_dispatch_modes(), 0);
    x.relu();
    KernelRecorder other(theirs);
    const DispatchModeGuard inside(other);
    x.exp();
  }).join();
  EXPECT_TRUE(log.empty());
  EXPECT_THAT(theirs, ElementsAre("aten::exp"));
}

// ---- with what else there is ---------------------------------------------------------------------------------------
TEST_F(KernelModes, StandBesideNoGradAndInference) {
  KernelRecorder mode(log);
  const DispatchModeGuard guard(mode);
  {
    const NoGradGuard no_grad;
    EXPECT_FALSE(w.relu().requires_grad());
  }
  {
    const InferenceMode inference;
    EXPECT_TRUE(w.relu().is_inference());
    Tensor normal = x;
    const auto version = normal._version();
    normal.add_(1);
    EXPECT_EQ(normal._version(), version + 1);
  }
  EXPECT_THAT(log, ElementsAre("aten::relu", "aten::relu", "aten::add_.Scalar"));
}

TEST_F(KernelModes, SeeTensorsOnMetaOfCallsWithFakeOnes) {
  std::vector<std::string> devices;
  KernelRecorder mode(log, "", [&](const OperatorHandle& op, Stack* stack) {
    forEachTensor(*stack, [&](const Tensor& t) { devices.push_back(detail::str(t.device().type())); });
    op.callBoxed(stack);
  });
  FakeTensorMode fake;
  const Tensor fx = fake.from_tensor(x), fw = fake.from_tensor(w);
  const DispatchModeGuard guard(mode);
  const Tensor y = linear(fx, fw.t()).relu();
  EXPECT_TRUE(is_fake(y));
  EXPECT_EQ(y.sizes(), IntArrayRef({2, 4}));
  EXPECT_EQ(y.device(), Device(kCPU));
  EXPECT_THAT(log, Contains("aten::relu"));
  EXPECT_THAT(log, Not(Contains("aten::linear")));
  EXPECT_THAT(devices, Each("meta"));
  y.sum().backward();
  EXPECT_TRUE(is_fake(fw.grad()));
  EXPECT_EQ(zeros({5}).sizes(), IntArrayRef({5}));
  EXPECT_TRUE(is_fake(zeros({5})));
}

TEST_F(KernelModes, MakingFakeTensorsIsNotSeen) {
  KernelRecorder mode(log);
  const DispatchModeGuard guard(mode);
  to_fake(w);
  to_fake(x.select(0, 1));
  EXPECT_THAT(log, ElementsAre("aten::select.int"));
}

TEST_F(KernelModes, SeeWhatFunctionalizeMakesOfWrites) {
  KernelRecorder mode(log);
  const DispatchModeGuard guard(mode);
  const Tensor f = to_functional(x.clone());
  log.clear();
  Tensor(f).mul_(2);
  EXPECT_THAT(log, ElementsAre("aten::mul.Scalar")) << "and nothing of how it finds out which shape that has";
}

TEST_F(KernelModes, SeeWhatASubclassCalls) {
  bool wrapped = true;
  KernelRecorder mode(log, "", [&](const OperatorHandle& op, Stack* stack) {
    wrapped = wrapper_cast<Wrapper>((*stack)[0].toTensor()) != nullptr;
    op.callBoxed(stack);
  });
  const Tensor t = wrap<Wrapper>(x);
  const DispatchModeGuard guard(mode);
  EXPECT_NE(wrapper_cast<Wrapper>(t.relu()), nullptr);
  EXPECT_THAT(log, ElementsAre("aten::relu"));
  EXPECT_FALSE(wrapped);
}

TEST_F(KernelModes, AKernelForTheKeyComesBeforeThem) {
  Library own(Library::Kind::kImpl, "aten", DispatchKey::PythonKernel);
  own.impl("relu", [](const Tensor& t) { return t * 2; });
  KernelRecorder mode(log);
  const DispatchModeGuard guard(mode);
  EXPECT_TRUE(w.relu().eq(w * 2).all().item<bool>());
  EXPECT_THAT(log, Not(Contains("aten::relu")));
}

TEST_F(KernelModes, TheKeyWithoutAModeIsAClearError) {
  const IncludeDispatchKeyGuard guard(DispatchKey::PythonKernel);
  EXPECT_THAT(errorOf([&] { x.relu(); }), HasSubstr("no DispatchMode at level kKernel is active"));
}

TEST_F(KernelModes, TracesNameTheModeWhereItIsOffered) {
  static std::vector<std::string> steps;
  steps.clear();
  KernelRecorder mode(log);
  const DispatchModeGuard guard(mode);
  set_trace(true, [](const TraceStep& s) { steps.push_back(detail::str(s.op.operator_name(), ' ', s.key)); });
  x.matmul(w.detach());
  set_trace(false);
  EXPECT_THAT(steps, testing::IsSupersetOf({"aten::matmul PythonKernel", "aten::mm PythonKernel", "aten::mm CPU"}));
}

}  // namespace
}  // namespace shunt
