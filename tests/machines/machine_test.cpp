// That a machine of tests/machines is what its name says: the CPU as programs see it, and what each library chose for
// it.
#include "kernels/linalg/blas.h"
#include "kernels/linalg/gemm.h"

#include <shunt/core/isa.h>
#include <shunt/jit/jit.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cpuid.h>
#include <cstdlib>
#include <string>

namespace shunt {
namespace {

struct Machine {
  const char* name;
  bool emulated;
  const char* isa;
  const char* blas_core;
  bool avx, avx2;  // of the CPU itself, where it is emulated
};
constexpr Machine kMachines[] = {
    {"nehalem", true, "baseline", "Nehalem", false, false},
    {"haswell", true, "v3", "Haswell", true, true},
    {"baseline", false, "baseline", "Nehalem", false, false},
    {"v3", false, "v3", "Haswell", true, true},
};

const Machine& thisMachine() {
  const char* name = std::getenv("SHUNT_MACHINE");
  for (const Machine& machine : kMachines)
    if (name != nullptr && name == std::string(machine.name)) return machine;
  throw std::runtime_error("SHUNT_MACHINE names no machine of tests/machines");
}

struct Registers {
  unsigned a = 0, b = 0, c = 0, d = 0;
};
Registers cpuid(unsigned leaf) {
  Registers r;
  __get_cpuid_count(leaf, 0, &r.a, &r.b, &r.c, &r.d);
  return r;
}

TEST(Machine, HasTheCpuOfItsName) {
  const Machine& machine = thisMachine();
  if (!machine.emulated) return;  // that of the system, whatever it is
  EXPECT_EQ((cpuid(1).c & bit_AVX) != 0, machine.avx);
  EXPECT_EQ((cpuid(7).b & bit_AVX2) != 0, machine.avx2);
  EXPECT_EQ(cpuid(7).b & bit_AVX512F, 0u);
  EXPECT_STREQ(toString(detail::bestIsa()), machine.isa);
}

TEST(Machine, ChoosesTheLoopsOfItsName) { EXPECT_STREQ(isa_name(), thisMachine().isa); }

TEST(Machine, GetsTheKernelsOfItsNameFromTheLibraries) {
  EXPECT_EQ(linalg::blasCoreName(), thisMachine().blas_core);
  EXPECT_FALSE(linalg::oneDnnMultipliesBFloat16());
}

TEST(Machine, CompilesWhereItIsNotEmulated) { EXPECT_EQ(jit::enabled(), !thisMachine().emulated); }

}  // namespace
}  // namespace shunt
