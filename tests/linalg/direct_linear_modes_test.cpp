// linear in one step under what sees or changes the composite's parts: autocast, dispatch modes, subclasses, functional
// and fake tensors, overrides. It stands aside, so that results, dtypes and calls seen are the composite's.
#include "kernels/nn/direct_linear.h"
#include "tests/modes/tensor_subclass_util.h"

#include <shunt/interpose/dispatch_mode.h>
#include <shunt/transforms/autocast.h>
#include <shunt/transforms/fake_tensor.h>
#include <shunt/transforms/functionalize.h>

#include <functional>
#include <string>
#include <vector>

namespace shunt {
namespace {

using native::directLinear;
using test::Logged;
using test::Subclasses;
using testing::Contains;
using testing::ElementsAre;
using testing::IsSupersetOf;

struct DirectLinearUnder : Subclasses {
  explicit DirectLinearUnder(ScalarType dtype = kFloat)
      : input(randn({3, 16}).to(dtype)), weight(randn({5, 16}).to(dtype)), bias(randn({5}).to(dtype)) {
    expected = composite();
  }
  Tensor composite() const { return addmm(bias, input, weight.t()); }
  bool direct() const { return directLinear(input, weight, bias).defined(); }
  /// The operands, with one of them replaced by what `f` makes of it.
  void forEachOperand(const std::function<Tensor(const Tensor&)>& f, const std::function<void()>& check) {
    for (Tensor* t : {&input, &weight, &bias}) {
      SCOPED_TRACE(t == &input ? "input" : t == &weight ? "weight" : "bias");
      const Tensor before = *t;
      *t = f(before);
      check();
      *t = before;
    }
    EXPECT_TRUE(direct());
  }
  Tensor input, weight, bias, expected;
};

TEST_F(DirectLinearUnder, AutocastIsTheCastComposite) {
  const AutocastGuard autocast(DeviceType::CPU, kBFloat16);
  EXPECT_FALSE(direct()) << "addmm would cast its arguments";
  const Tensor out = linear(input, weight, bias);
  EXPECT_EQ(out.dtype(), kBFloat16);
  EXPECT_TRUE(test::same(out, composite()));
}

TEST_F(DirectLinearUnder, AutocastOfDoublesIsTheComposite) {
  const Tensor x = input.to(kDouble), w = weight.to(kDouble), b = bias.to(kDouble);
  const AutocastGuard autocast(DeviceType::CPU, kBFloat16);
  const Tensor out = linear(x, w, b), parts = addmm(b, x, w.t());
  EXPECT_EQ(out.dtype(), parts.dtype());
  EXPECT_TRUE(test::same(out, parts));
}

TEST_F(DirectLinearUnder, AModeAtTheKernelsSeesTheParts) {
  struct Kernels : test::LogMode {
    Level level() const override { return Level::kKernel; }
  } mode;
  {
    const DispatchModeGuard guard(mode);
    EXPECT_FALSE(direct());
    EXPECT_TRUE(test::same(linear(input, weight, bias), expected));
  }
  EXPECT_THAT(log(), IsSupersetOf({"mode aten::t", "mode aten::addmm"}));
  EXPECT_TRUE(direct());
}

TEST_F(DirectLinearUnder, AModeAtTheCallSeesLinear) {
  test::LogMode mode;
  {
    const DispatchModeGuard guard(mode);
    EXPECT_TRUE(test::same(linear(input, weight, bias), expected));
  }
  EXPECT_THAT(log(), Contains("mode aten::linear"));
}

TEST_F(DirectLinearUnder, ASubclassAmongTheOperandsHandlesTheCall) {
  forEachOperand([](const Tensor& t) { return wrap<Logged>(t); },
                 [&] {
                   EXPECT_FALSE(direct());
                   const Tensor out = linear(input, weight, bias);
                   EXPECT_THAT(log(), ElementsAre("Logged aten::linear"));
                   ASSERT_NE(wrapper_cast<Logged>(out), nullptr);
                   EXPECT_TRUE(test::same(unwrap<Logged>(out), expected));
                   log();
                 });
}

TEST_F(DirectLinearUnder, AFunctionalOperandMakesAFunctionalResult) {
  forEachOperand([](const Tensor& t) { return to_functional(t); },
                 [&] {
                   EXPECT_FALSE(direct());
                   const Tensor out = linear(input, weight, bias);
                   ASSERT_TRUE(is_functional(out));
                   EXPECT_TRUE(test::same(from_functional(out), expected));
                 });
}

// A weight that was written to has its new value in the next call.
TEST_F(DirectLinearUnder, FunctionalizeSeesWritesBetweenCalls) {
  const auto f = functionalize([](const Tensor& x, const Tensor& w, const Tensor& b) {
    const Tensor first = linear(x, w, b);
    w.t().mul_(2);
    return linear(x, w, b) - first;
  });
  const Tensor w = weight.clone();
  const Tensor out = f(input, w, bias);
  EXPECT_TRUE(test::same(w, weight * 2));
  EXPECT_TRUE(test::same(out, linear(input, weight * 2, bias) - expected));
}

TEST_F(DirectLinearUnder, AFakeOperandMakesAFakeResult) {
  const Tensor x = to_fake(input), w = to_fake(weight), b = to_fake(bias);
  EXPECT_FALSE(directLinear(x, w, b).defined());
  const Tensor out = linear(x, w, b);
  EXPECT_TRUE(is_fake(out));
  EXPECT_EQ(out.sizes(), expected.sizes());
  EXPECT_EQ(out.strides(), expected.strides());
  // Real ones among them are an error, as of the parts.
  forEachOperand([](const Tensor& t) { return to_fake(t); },
                 [&] {
                   EXPECT_FALSE(direct());
                   std::string of_parts, of_linear;
                   of_parts = test::errorOf([&] { composite(); });
                   of_linear = test::errorOf([&] { linear(input, weight, bias); });
                   EXPECT_EQ(of_parts.empty(), of_linear.empty()) << of_parts << of_linear;
                 });
}

// The composite's parts are t and addmm; mm is another operator, whose override is none of linear's concern.
TEST_F(DirectLinearUnder, OverridesAreMetWhereTheCompositeMeetsThem) {
  static int calls;
  using Override = std::function<void(Library&)>;
  const auto meets = [&](DispatchKey key, const Override& override) {
    calls = 0;
    Library block(Library::Kind::kImpl, "aten", key);
    override(block);
    composite();
    const int by_parts = std::exchange(calls, 0);
    linear(input, weight, bias);
    EXPECT_EQ(calls, by_parts) << toString(key);
    return by_parts != 0;
  };
  const Override of_mm = [](Library& block) {
    block.impl("mm", [](const Tensor& a, const Tensor&) {
      ++calls;
      return a;
    });
  };
  const Override of_addmm = [](Library& block) {
    block.impl("addmm", [](const Tensor& b, const Tensor& x, const Tensor&, const Scalar&, const Scalar&) {
      ++calls;
      return x.narrow(1, 0, b.size(0));
    });
  };
  const Override of_t = [](Library& block) {
    block.impl("t", [](const Tensor& a) {
      ++calls;
      return a.transpose(0, 1);
    });
  };
  EXPECT_FALSE(meets(DispatchKey::CPU, of_mm));
  EXPECT_TRUE(meets(DispatchKey::CPU, of_addmm));
  EXPECT_TRUE(meets(DispatchKey::CPU, of_t));
}

// linear casts by a rule of its own, and what it calls is below autocast.
TEST_F(DirectLinearUnder, AutocastOverridesOfThePartsAreNotLinears) {
  static int calls;
  calls = 0;
  Library block(Library::Kind::kImpl, "aten", DispatchKey::AutocastCPU);
  block.impl("addmm", [](const Tensor& b, const Tensor& x, const Tensor&, const Scalar&, const Scalar&) {
    ++calls;
    return x.narrow(1, 0, b.size(0));
  });
  const AutocastGuard autocast(DeviceType::CPU, kBFloat16);
  composite();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(linear(input, weight, bias).dtype(), kBFloat16);
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(direct()) << "asked at this level, addmm is another's";
}

}  // namespace
}  // namespace shunt
