// The CPU that thunks are compiled for. tests/machines runs it with SHUNT_ISA held lower too.
#include "jit/host/host_target.h"

#include <shunt/core/isa.h>

#include <gtest/gtest.h>

namespace shunt::jit::test {
namespace {

bool uses(const std::string& feature) {
  return ("," + HostTarget::instance().features() + ",").find(",+" + feature + ",") != std::string::npos;
}

TEST(HostTarget, HasTheInstructionSetInForce) {
  const Isa isa = shunt::detail::activeIsa();
  EXPECT_TRUE(uses("sse2"));
  for (const char* feature : {"avx", "avx2", "fma", "bmi2", "f16c"})
    if (isa >= Isa::kV3)
      EXPECT_TRUE(uses(feature)) << feature;
    else if (isa != shunt::detail::bestIsa())
      EXPECT_FALSE(uses(feature)) << feature;
  for (const char* feature : {"avx512f", "avx512vl"})
    if (isa == Isa::kV4)
      EXPECT_TRUE(uses(feature)) << feature;
    else if (isa != shunt::detail::bestIsa())
      EXPECT_FALSE(uses(feature)) << feature;
  const unsigned widths[kNumIsas] = {128, 256, 512};
  if (isa != shunt::detail::bestIsa()) EXPECT_EQ(HostTarget::instance().vectorWidth(), widths[static_cast<int>(isa)]);
  EXPECT_FALSE(uses("avx512bf16")) << "its conversion flushes denormals";
}

}  // namespace
}  // namespace shunt::jit::test
