// The renamed device: names, guards, factories, copies, printing, and what is said while kernels are missing.
#include "tests/device/host_backend.h"
#include "tests/support/error_of.h"

#include <gmock/gmock.h>

namespace shunt {
namespace {

using test::errorOf;
using test::kToy;
using ::testing::AllOf;
using ::testing::HasSubstr;

// First, while nothing is registered: the names as they are compiled in, and what a guard, an allocator and a kernel
// are missed for.
TEST(DeviceOrder, BeforeAnythingIsRegistered) {
  EXPECT_EQ(get_privateuse1_backend(), "privateuseone");
  EXPECT_EQ(Device("opencl").type(), DeviceType::OPENCL);
  EXPECT_THAT(errorOf([] { DeviceGuard guard(Device("privateuseone:0")); }),
              AllOf(HasSubstr("privateuseone has no device guard"), HasSubstr("registerDeviceGuard"),
                    HasSubstr("load_library")));
  EXPECT_THAT(errorOf([] { empty({2}, TensorOptions(kPrivateUse1)); }),
              AllOf(HasSubstr("aten::empty.memory_format"), HasSubstr("PrivateUse1"),
                    HasSubstr("SHUNT_LIBRARY_IMPL(<namespace>, PrivateUse1, m)"),
                    HasSubstr("add the backend PrivateUse1 (device privateuseone) (docs/adapt_your_hardware.md)")));
  EXPECT_THAT(errorOf([] { allocatorOf(kPrivateUse1); }),
              AllOf(HasSubstr("registerAllocator"), HasSubstr("PrivateUse1")));
  EXPECT_FALSE(hasDeviceGuardImpl(kPrivateUse1));
  EXPECT_EQ(ensure_has_index(Device(kPrivateUse1)), Device(kPrivateUse1));
}

class Toy : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { test::useHostBackend(false); }
};

TEST_F(Toy, HasItsNameAndTheLegacyOneGivesWay) {
  EXPECT_EQ(Device("opencl:1"), Device(kPrivateUse1, 1));
  EXPECT_EQ(Device("opencl").str(), "opencl");
  EXPECT_EQ(Device("privateuseone:0").str(), "opencl:0");
  EXPECT_EQ(get_privateuse1_backend(), "opencl");
  rename_privateuse1_backend("opencl");
  EXPECT_THAT(errorOf([] { rename_privateuse1_backend("npu"); }), AllOf(HasSubstr("'opencl'"), HasSubstr("'npu'")));
  EXPECT_THAT(errorOf([] { Device("npu"); }), AllOf(HasSubstr("cpu, meta, opencl"), HasSubstr(": npu")));
  EXPECT_EQ(Device("opengl").type(), DeviceType::OPENGL);
  EXPECT_EQ(std::string(toString(DispatchKey::AutogradPrivateUse1)), "AutogradPrivateUse1");
}

TEST_F(Toy, RegistersOneGuardAndOneAllocator) {
  const DeviceGuardImplInterface& guard = getDeviceGuardImpl(kPrivateUse1);
  registerDeviceGuard(kPrivateUse1, &guard);
  registerAllocator(kPrivateUse1, &allocatorOf(kPrivateUse1));
  EXPECT_THAT(errorOf([] { registerAllocator(kPrivateUse1, &allocatorOf(kCPU)); }),
              HasSubstr("opencl already has another allocator"));
  EXPECT_THAT(errorOf([&] { registerDeviceGuard(kCUDA, &guard); }), AllOf(HasSubstr("cuda"), HasSubstr("opencl")));
  EXPECT_THAT(errorOf([] { registerDeviceGuard(kPrivateUse1, nullptr); }), HasSubstr("null"));
}

TEST_F(Toy, GuardsMakeADeviceCurrentForAScope) {
  const auto current = [] { return ensure_has_index(Device("opencl")).index(); };
  EXPECT_EQ(current(), 0);
  {
    DeviceGuard guard(Device("opencl:1"));
    EXPECT_EQ(guard.original_device(), kToy);
    EXPECT_EQ(current(), 1);
    EXPECT_EQ(empty({2}, TensorOptions("opencl")).device(), Device(kPrivateUse1, 1));
    guard.set_index(0);
    EXPECT_EQ(current(), 0);
    OptionalDeviceGuard none(std::nullopt);
  }
  EXPECT_EQ(current(), 0);
  synchronize(Device("opencl"));
  synchronize(Device("cpu"));
  EXPECT_THAT(errorOf<IndexError>([] { DeviceGuard guard(Device("opencl:2")); }),
              AllOf(HasSubstr("opencl:2"), HasSubstr("2 devices")));
  EXPECT_THAT(errorOf<IndexError>([] { empty({2}, TensorOptions("opencl:2")); }), HasSubstr("opencl:2 does not exist"));
  EXPECT_EQ(current(), 0);
}

TEST_F(Toy, TensorsGoThereAndBack) {
  const Tensor x = arange(6, TensorOptions(kFloat)).view({2, 3});
  const Tensor there = x.to("opencl");
  EXPECT_EQ(there.device(), kToy);
  EXPECT_TRUE(there.is_privateuseone());
  EXPECT_EQ(there.key_set(),
            DispatchKeySet({DispatchKey::PrivateUse1, DispatchKey::AutocastPrivateUse1, DispatchKey::ADInplaceOrView}));
  EXPECT_EQ(keySetFor(kToy), there.key_set());
  EXPECT_TRUE(there.cpu().eq(x).all().item<bool>());
  EXPECT_TRUE(there.to("opencl").is_same(there));
  EXPECT_TRUE(there.to("opencl:0").is_same(there));
  EXPECT_EQ(there.to("opencl:1").device().index(), 1);
  EXPECT_EQ(there.t().cpu()[2][1].item<float>(), 5);
  EXPECT_EQ(there[1][2].item<float>(), 5);
  EXPECT_EQ(there.to(kDouble).dtype(), kDouble);
  Tensor back = zeros({2, 3});
  back.copy_(there);
  EXPECT_TRUE(back.eq(x).all().item<bool>());
}

TEST_F(Toy, ViewsShareStorage) {
  const Tensor x = test::counted({2, 3});
  const Tensor row = x.select(0, 1);
  EXPECT_TRUE(row.is_alias_of(x));
  row.narrow(0, 0, 1).copy_(full({1}, 7));
  EXPECT_EQ(x.cpu()[1][0].item<float>(), 7);
}

TEST_F(Toy, Prints) {
  EXPECT_EQ(test::counted({2, 2}).toString(), "tensor([[0., 1.],\n        [2., 3.]], device='opencl:0')");
  EXPECT_EQ(empty({0}, TensorOptions("opencl")).toString(), "tensor([], device='opencl:0')");
}

TEST_F(Toy, MemoryIsFreedWithItsLastUser) {
  const int before = test::liveBlocks();
  {
    const Tensor x = test::counted({4});
    const Tensor view = x.narrow(0, 1, 2);
    EXPECT_EQ(test::liveBlocks(), before + 1);
  }
  EXPECT_EQ(test::liveBlocks(), before);
}

TEST_F(Toy, StoragesGrowWithTheirContents) {
  const Tensor x = test::counted({4});
  x.storage()->resize(8 * sizeof(float));
  EXPECT_EQ(x.storage()->nbytes(), 8 * sizeof(float));
  EXPECT_EQ(x.cpu()[3].item<float>(), 3);
}

TEST_F(Toy, SaysWhichKernelIsMissingWithoutAFallback) {
  const Tensor x = test::counted({2});
  EXPECT_THAT(errorOf<NotImplementedError>([&] { x.add(x); }),
              AllOf(HasSubstr("aten::add.Tensor"), HasSubstr("PrivateUse1 (device opencl)"), HasSubstr("m.fallback")));
  EXPECT_THAT(errorOf([&] { x.add(ones({2})); }), AllOf(HasSubstr("same device"), HasSubstr("opencl:0 (argument self)"),
                                                        HasSubstr("cpu (argument other)")));
}

}  // namespace
}  // namespace shunt
