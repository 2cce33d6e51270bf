// BackendSelect and the mixed-device check.
#include <shunt/shunt.h>

#include "tests/support/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shunt {
namespace {

using testing::HasSubstr;

using test::errorOf;

TEST(BackendSelect, DeviceChoosesTheKernel) {
  EXPECT_EQ(empty({2}).device(), Device(kCPU));
  EXPECT_EQ(empty({2}, Device(kMeta)).device(), Device(kMeta));
  EXPECT_EQ(zeros({2, 2}, Device(kMeta)).device(), Device(kMeta));
}

TEST(BackendSelect, DevicesWithoutBackendAreErrorsThatNameTheOperator) {
  EXPECT_THAT(errorOf([] { empty({2}, Device(kCUDA)); }), HasSubstr("aten::empty"));
  EXPECT_THAT(errorOf([] { empty({2}, Device("xla")); }), HasSubstr("aten::empty"));
  EXPECT_THAT(errorOf([] { empty({2}, Device("vulkan")); }), HasSubstr("aten::empty"));
  EXPECT_THAT(errorOf([] { empty({2}, Device("opengl")); }), HasSubstr("the device opengl has no backend here"));
  EXPECT_THAT(errorOf([] { ones({2}).to("cuda"); }), HasSubstr("CUDA"));
}

TEST(BackendSelect, OtherLayoutsAreErrors) {
  EXPECT_THROW(empty({2}, TensorOptions(Layout::SparseCsr)), NotImplementedError);
  EXPECT_THROW(empty({2}, TensorOptions(kSparse)), Error);
}

TEST(DeviceCheck, NamesArgumentMethodAndBothDevices) {
  const Tensor cpu = ones({2, 3}), meta = empty({2, 3}, Device(kMeta));
  EXPECT_THAT(
      errorOf([&] { cat({cpu, meta}); }),
      HasSubstr("Expected all tensors to be on the same device, but found at least two devices, cpu and meta! (when "
                "checking argument for argument tensors in method wrapper_Meta_cat)"));
}

TEST(DeviceCheck, CopiesMayMixDevices) {
  Tensor meta = empty({2}, Device(kMeta));
  EXPECT_EQ(errorOf([&] { meta.copy_(ones({2})); }), "no error");
}

}  // namespace
}  // namespace shunt
