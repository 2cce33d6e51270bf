// The CPU fallback: values, identity of written arguments, aliasing, devices of results, autograd and autocast above
// it, errors, and what is named in the log.
#include "tests/device/host_backend.h"
#include "tests/support/error_of.h"

#include <shunt/core/log.h>

#include <gmock/gmock.h>

#include <algorithm>
#include <thread>

namespace shunt {
namespace {

using test::counted;
using test::errorOf;
using test::kToy;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

void otherFallback(const OperatorHandle&, Stack*) {}

std::vector<std::string>& warnings() {
  static std::vector<std::string> all;
  return all;
}

class CpuFallback : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { test::useHostBackend(); }
  void SetUp() override {
    warnings().clear();
    set_log_sink([](LogLevel level, const char* text) {
      if (level == LogLevel::kWarning) warnings().push_back(text);
    });
  }
  void TearDown() override { set_log_sink(nullptr); }
};

std::vector<float> valuesOf(const Tensor& t) {
  const Tensor on_cpu = t.cpu().contiguous().to(kFloat);
  return {on_cpu.data_ptr<float>(), on_cpu.data_ptr<float>() + on_cpu.numel()};
}

TEST_F(CpuFallback, ComputesWhatTheCpuDoesAndNamesEachOperatorOnce) {
  const Tensor x = counted({2, 3});
  for (int i = 0; i < 3; ++i) {
    const Tensor y = x.rsqrt();
    EXPECT_EQ(y.device(), kToy);
    EXPECT_EQ(valuesOf(y), valuesOf(x.cpu().rsqrt()));
  }
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_THAT(warnings()[0],
              AllOf(HasSubstr("aten::rsqrt"), HasSubstr("opencl:0"), HasSubstr("CPU"), HasSubstr("PrivateUse1")));
  const auto names = cpu_fallback_operators();
  EXPECT_EQ(std::count(names.begin(), names.end(), OperatorName("aten::rsqrt", "")), 1);
}

TEST_F(CpuFallback, LeavesOperatorsWithAKernelAlone) {
  const Tensor x = counted({3});
  const int before = test::mulCalls();
  EXPECT_THAT(valuesOf(x.mul(x)), ElementsAre(0, 1, 4));
  EXPECT_EQ(test::mulCalls(), before + 1);
  EXPECT_TRUE(warnings().empty());
}

TEST_F(CpuFallback, NumbersReachTheBackendsKernelForTensorsAndFallBackAsSuch) {
  const Tensor x = counted({3});
  const int before = test::mulCalls();
  EXPECT_THAT(valuesOf(x.mul(2)), ElementsAre(0, 2, 4));
  EXPECT_EQ(test::mulCalls(), before + 1);
  EXPECT_THAT(valuesOf(x.add(1)), ElementsAre(1, 2, 3));
  EXPECT_THAT(valuesOf(rsub(x, 1)), ElementsAre(1, 0, -1));
  const auto names = cpu_fallback_operators();
  EXPECT_EQ(std::count(names.begin(), names.end(), OperatorName("aten::add", "Tensor")), 1);
  EXPECT_EQ(std::count(names.begin(), names.end(), OperatorName("aten::sub", "Tensor")), 1);
  EXPECT_EQ(std::count(names.begin(), names.end(), OperatorName("aten::add", "Scalar")), 0);
  EXPECT_EQ(std::count(names.begin(), names.end(), OperatorName("aten::mul", "Scalar")), 0);
  EXPECT_THAT(valuesOf(x.cpu().mul(2)), ElementsAre(0, 2, 4));
  EXPECT_EQ(test::mulCalls(), before + 1);
}

TEST_F(CpuFallback, WritesInPlaceAndReturnsTheSameTensor) {
  Tensor x = counted({2, 3});
  const uint32_t version = x._version();
  Tensor& y = x.add_(10);
  EXPECT_EQ(&y, &x);
  EXPECT_EQ(x._version(), version + 1);
  EXPECT_THAT(valuesOf(x), ElementsAre(10, 11, 12, 13, 14, 15));
  x.t().select(0, 1).zero_();
  EXPECT_THAT(valuesOf(x), ElementsAre(10, 0, 12, 13, 0, 15));
}

TEST_F(CpuFallback, WritesOutAndResizesIt) {
  const Tensor x = counted({2, 3});
  Tensor out = empty({0}, TensorOptions(kToy));
  Tensor& same = shunt::add_out(out, x, x);
  EXPECT_EQ(&same, &out);
  EXPECT_EQ(out.sizes(), IntArrayRef({2, 3}));
  EXPECT_THAT(valuesOf(out), ElementsAre(0, 2, 4, 6, 8, 10));
  Tensor large = counted({2, 2, 2});
  Tensor front = large.select(0, 0);
  shunt::add_out(front, front, front);
  EXPECT_THAT(valuesOf(large), ElementsAre(0, 2, 4, 6, 4, 5, 6, 7));
  large.resize_({3});
  EXPECT_THAT(valuesOf(large), ElementsAre(0, 2, 4));
}

TEST_F(CpuFallback, ArgumentsThatOverlapOverlapOnTheCpu) {
  Tensor x = counted({4});
  const Tensor front = x.narrow(0, 0, 3);
  Tensor back = x.narrow(0, 1, 3);
  const std::string on_cpu = errorOf([] {
    Tensor y = arange(4, TensorOptions(kFloat));
    y.narrow(0, 1, 3).add_(y.narrow(0, 0, 3));
  });
  EXPECT_THAT(on_cpu, HasSubstr("single memory location"));
  EXPECT_EQ(errorOf([&] { back.add_(front); }).substr(0, on_cpu.size()), on_cpu);
  EXPECT_THAT(errorOf([&] { counted({1}).expand({3}).add_(1); }), HasSubstr("more than one element"));
  x.add_(x);
  EXPECT_THAT(valuesOf(x), ElementsAre(0, 2, 4, 6));
}

TEST_F(CpuFallback, TakesListsOptionalTensorsAndSeveralReturns) {
  const Tensor x = counted({2, 2});
  EXPECT_EQ(valuesOf(shunt::cat({x, x}, 1)), valuesOf(shunt::cat({x.cpu(), x.cpu()}, 1)));
  const auto [values, indices] = x.max(1);
  EXPECT_EQ(values.device(), kToy);
  EXPECT_EQ(indices.device(), kToy);
  EXPECT_THAT(valuesOf(indices), ElementsAre(1, 1));
  EXPECT_THAT(valuesOf(shunt::clamp(x, {}, std::optional<Tensor>(x.mul(x)))), ElementsAre(0, 1, 2, 3));
}

TEST_F(CpuFallback, NumbersMayBeOnTheCpuAndNothingElse) {
  const Tensor x = counted({2});
  EXPECT_THAT(valuesOf(x.add(full({}, 5))), ElementsAre(5, 6));
  EXPECT_THAT(valuesOf(full({}, 5).sub(x)), ElementsAre(5, 4));
  EXPECT_THAT(valuesOf(1 - x), ElementsAre(1, 0));
  EXPECT_EQ((x + 1.5).dtype(), kFloat);
  EXPECT_THAT(errorOf([&] { x.add(ones({2})); }),
              AllOf(HasSubstr("aten::add"), HasSubstr("opencl:0 (argument self)"), HasSubstr("cpu (argument other)")));
  EXPECT_THAT(errorOf([&] { ones({}).add_(x.select(0, 0)); }), HasSubstr("same device"));
  EXPECT_THAT(errorOf([&] { x.add(x.to("opencl:1")); }), AllOf(HasSubstr("opencl:0"), HasSubstr("opencl:1")));
  EXPECT_THAT(errorOf([&] { shunt::cat({x, x, ones({2})}); }),
              AllOf(HasSubstr("opencl:0 (argument tensors[0])"), HasSubstr("cpu (argument tensors[2])")));
}

TEST_F(CpuFallback, FactoriesMakeTheirTensorsThere) {
  EXPECT_EQ(arange(3, TensorOptions("opencl:1")).device(), Device("opencl:1"));
  EXPECT_THAT(valuesOf(full({2}, 3, TensorOptions("opencl"))), ElementsAre(3, 3));
  EXPECT_EQ(shunt::randn({2}, TensorOptions("opencl")).device(), kToy);
  EXPECT_EQ(zeros_like(counted({2})).device(), kToy);
  EXPECT_EQ(tensor({1., 2.}, TensorOptions("opencl")).device(), kToy);
  manual_seed(3);
  const auto on_device = valuesOf(empty({4}, TensorOptions("opencl")).uniform_());
  manual_seed(3);
  EXPECT_EQ(on_device, valuesOf(empty({4}).uniform_()));
}

// Of a kernel that makes its result, and of one whose result is its argument when that is on the device already, as of
// the copy it is.
TEST_F(CpuFallback, ADeviceArgumentSaysWhereResultsGo) {
  Library def(Library::Kind::kDef, "fallback_test");
  def.def("made_on(Tensor self, Device device) -> Tensor");
  def.def("moved_to(Tensor self, Device? device=None) -> Tensor");
  Library cpu(Library::Kind::kImpl, "fallback_test", DispatchKey::CPU);
  cpu.impl("made_on", [](const Tensor& t, Device device) { return t.neg().to(device); });
  cpu.impl("moved_to", [](const Tensor& t, std::optional<Device> device) { return device ? t.to(*device) : t; });
  const auto made_on =
      Dispatcher::singleton().findSchemaOrThrow("fallback_test::made_on").typed<Tensor(const Tensor&, Device)>();
  const auto moved_to = Dispatcher::singleton()
                            .findSchemaOrThrow("fallback_test::moved_to")
                            .typed<Tensor(const Tensor&, std::optional<Device>)>();
  const Tensor x = counted({2});
  for (const Device& device : {Device(kCPU), kToy, Device("opencl:1"), Device(kMeta)}) {
    EXPECT_EQ(made_on.call(x, device).device(), device);
    EXPECT_EQ(moved_to.call(x, device).device(), device);
  }
  EXPECT_THAT(valuesOf(made_on.call(x, kCPU)), ElementsAre(0, -1));
  EXPECT_THAT(valuesOf(moved_to.call(x, kCPU)), ElementsAre(0, 1));
  EXPECT_TRUE(moved_to.call(x, kToy).is_same(x));
  EXPECT_TRUE(moved_to.call(x, Device("opencl")).is_same(x));
  EXPECT_TRUE(moved_to.call(x, std::nullopt).is_same(x));
  EXPECT_THAT(warnings(),
              ::testing::Contains(AllOf(HasSubstr("fallback_test::made_on"), HasSubstr("tensors on opencl:0"))));
}

TEST_F(CpuFallback, GradientsNeedNothingOfTheBackend) {
  const Tensor x = counted({2, 3}).requires_grad_();
  const Tensor w = counted({3, 2}).requires_grad_();
  const Tensor loss = shunt::matmul(x, w).sigmoid().sum();
  EXPECT_TRUE(x.key_set().has(DispatchKey::AutogradPrivateUse1));
  loss.backward();
  const Tensor x_cpu = x.detach().cpu().requires_grad_(), w_cpu = w.detach().cpu().requires_grad_();
  shunt::matmul(x_cpu, w_cpu).sigmoid().sum().backward();
  EXPECT_EQ(x.grad().device(), kToy);
  EXPECT_EQ(valuesOf(x.grad()), valuesOf(x_cpu.grad()));
  EXPECT_EQ(valuesOf(w.grad()), valuesOf(w_cpu.grad()));
}

TEST_F(CpuFallback, GradientsFlowBetweenDevices) {
  const Tensor x = ones({2}).requires_grad_();
  x.to("opencl").mul(3).sum().cpu().backward();
  EXPECT_TRUE(x.grad().is_cpu());
  EXPECT_THAT(valuesOf(x.grad()), ElementsAre(3, 3));
}

TEST_F(CpuFallback, AutocastNeedsNothingOfTheBackend) {
  const Tensor x = counted({2, 2});
  AutocastGuard guard(kPrivateUse1, kBFloat16);
  EXPECT_EQ(x.mm(x).dtype(), kBFloat16);
  EXPECT_EQ(shunt::mse_loss(x.to(kBFloat16), x.to(kBFloat16)).dtype(), kFloat);
  EXPECT_EQ(x.cpu().mm(x.cpu()).dtype(), kFloat);
}

TEST_F(CpuFallback, ServesPartsOfAKernel) {
  const Tensor x = counted({2});
  EXPECT_THAT(valuesOf(call_fallback_fn<&cpu_fallback, ops::add_Tensor>::call(x, x, 2)), ElementsAre(0, 3));
  // What a thread's boxed calls use goes with it (LeakSanitizer), though it never called an operator.
  std::thread([&] { EXPECT_TRUE((call_fallback_fn<&otherFallback, ops::relu>::call(x).is_same(x))); }).join();
  Tensor y = counted({2});
  EXPECT_EQ((&call_fallback_fn<&cpu_fallback, ops::add__Tensor>::call(y, x, 1)), &y);
  EXPECT_THAT(valuesOf(y), ElementsAre(0, 2));
}

TEST_F(CpuFallback, ThunksStayOut) {
  const Tensor x = counted({3}), y = ones({3});
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(valuesOf(x.exp()), valuesOf(x.cpu().exp()));
    y.exp();
  }
}

TEST_F(CpuFallback, SaysWhatItCantDo) {
  Library def(Library::Kind::kDef, "fallback_test");
  def.def("view_of(Tensor(a) self) -> Tensor(a)");
  def.def("nothing(Tensor self) -> Tensor");
  Library cpu(Library::Kind::kImpl, "fallback_test", DispatchKey::CPU);
  cpu.impl("view_of", [](const Tensor& t) { return t.view(-1); });
  const auto call = [](const char* name) {
    Dispatcher::singleton().findSchemaOrThrow(name).typed<Tensor(const Tensor&)>().call(counted({2}));
  };
  EXPECT_THAT(errorOf<NotImplementedError>([&] { call("fallback_test::view_of"); }),
              AllOf(HasSubstr("fallback_test::view_of"), HasSubstr("returns a view"),
                    HasSubstr("SHUNT_LIBRARY_IMPL(fallback_test, PrivateUse1, m) { m.impl(\"view_of\"")));
  EXPECT_THAT(errorOf<NotImplementedError>([&] { call("fallback_test::nothing"); }),
              AllOf(HasSubstr("no kernel for the CPU"), HasSubstr("\"nothing\"")));
  EXPECT_THAT(errorOf<NotImplementedError>(
                  [] { call_fallback_fn<&cpu_fallback, ops::empty_strided>::call({2}, {1}, {}, {}, kToy, {}); }),
              AllOf(HasSubstr("aten::empty_strided"), HasSubstr("m.impl(\"empty_strided\"")));
  EXPECT_TRUE(warnings().empty());
}

TEST_F(CpuFallback, MayBeRegisteredTwiceAndNoOtherBesideIt) {
  const std::string before = Dispatcher::singleton().dumpFallbacks();
  {
    Library again(Library::Kind::kImpl, "_", DispatchKey::PrivateUse1);
    again.fallback(CppFunction::makeFromBoxedFunction<&cpu_fallback>());
    EXPECT_THAT(valuesOf(counted({2}).neg()), ElementsAre(0, -1));
    EXPECT_THAT(
        errorOf([&] { again.fallback(CppFunction::makeFromBoxedFunction<&otherFallback>()); }),
        AllOf(HasSubstr("multiple backend fallbacks"), HasSubstr("PrivateUse1"), HasSubstr("cpu_fallback_test.cpp")));
  }
  EXPECT_EQ(Dispatcher::singleton().dumpFallbacks(), before);
  EXPECT_THAT(valuesOf(counted({2}).sin()), ElementsAre(0, ::testing::FloatNear(0.841471f, 1e-5f)));
}

TEST_F(CpuFallback, ErrorsAreTheCpusAndChangeNothing) {
  Tensor x = counted({2, 3});
  EXPECT_THAT(errorOf([&] { x.add_(counted({2, 4})); }), HasSubstr("must match"));
  EXPECT_THAT(valuesOf(x), ElementsAre(0, 1, 2, 3, 4, 5));
}

}  // namespace
}  // namespace shunt
