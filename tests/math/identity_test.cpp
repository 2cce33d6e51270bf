// The same bits for every instruction set, vector width, position in a loop and for a call of one element.
#include "tests/math/inputs.h"
#include "tests/math/math_kernels.h"

#include <shunt/elementwise/math/trig.h>

#include <gtest/gtest.h>
#include <cstring>

namespace shunt::math_test {
namespace {

bool needsFastRange(const UnaryKernel& kernel) { return std::strstr(kernel.name, "Fast") != nullptr; }

template <class T>
std::vector<T> inputsFor(const UnaryKernel& kernel) {
  std::vector<T> values = randomValues<T>(20'000, {1.0, 20.0, 800.0}, 5);
  const std::vector<T> special = specialValues<T>();
  values.insert(values.end(), special.begin(), special.end());
  if (needsFastRange(kernel)) std::erase_if(values, [](T x) { return !math::trigInFastRange(x); });
  return values;
}

template <class T>
void expectSame(const char* isa, const char* name, const std::vector<T>& in, const std::vector<T>& got,
                const std::vector<T>& expected) {
  int failures = 0;
  for (size_t i = 0; i < expected.size(); ++i)
    if (!sameBits(got[i], expected[i]) && ++failures <= 3)
      ADD_FAILURE() << isa << " " << name << "(" << std::hexfloat << in[i] << ") = " << got[i] << ", expected "
                    << expected[i];
  EXPECT_EQ(failures, 0) << isa << " " << name;
}

template <class T>
void checkUnary(size_t index) {
  const UnaryKernel& first = supportedKernels().front()->unary[index];
  const std::vector<T> in = inputsFor<T>(first);
  std::vector<T> expected;
  for (T x : in) expected.push_back(first.as<T>().one(x));
  std::vector<T> out(in.size());
  for (const Kernels* kernels : supportedKernels()) {
    const Unary<T>& kernel = kernels->unary[index].as<T>();
    kernel.loop(out.data(), in.data(), static_cast<int64_t>(in.size()));
    expectSame(kernels->isa, first.name, in, out, expected);
    for (size_t i = 0; i < in.size(); ++i) out[i] = kernel.one(in[i]);
    expectSame(kernels->isa, first.name, in, out, expected);
    std::fill(out.begin(), out.end(), T(0));
    // Every length up to two wide unrolled iterations, starting anywhere: all mixtures of body and tail.
    std::ptrdiff_t at = 0;
    for (int64_t n = 1; n <= 130; ++n) {
      kernel.loop(out.data() + at, in.data() + at, n);
      at += n;
    }
    expectSame(kernels->isa, first.name, in, {out.begin(), out.begin() + at},
               {expected.begin(), expected.begin() + at});
  }
}

TEST(Identity, UnaryFunctions) {
  for (size_t i = 0; i < supportedKernels().front()->unary.size(); ++i) {
    checkUnary<float>(i);
    checkUnary<double>(i);
  }
}

TEST(Identity, FastTrigonometricFunctionsAreTheFullOnesInRange) {
  const Kernels& kernels = *supportedKernels().back();
  for (const char* name : {"sin", "cos", "tan"}) {
    const UnaryKernel& full = kernels.find(name);
    const UnaryKernel& fast = kernels.find((std::string(name) + "Fast").c_str());
    for (float x : inputsFor<float>(fast))
      EXPECT_PRED2(sameBits<float>, full.of_float.one(x), fast.of_float.one(x)) << x;
    for (double x : inputsFor<double>(fast))
      EXPECT_PRED2(sameBits<double>, full.of_double.one(x), fast.of_double.one(x)) << x;
  }
  EXPECT_TRUE(math::trigInFastRange(0x1p28f) && math::trigInFastRange(-0x1p20));
  EXPECT_FALSE(math::trigInFastRange(0x1.000002p28f) || math::trigInFastRange(-0x1.1p20));
  EXPECT_FALSE(math::trigInFastRange(std::numeric_limits<float>::infinity()));
  EXPECT_TRUE(math::trigInFastRange(std::numeric_limits<double>::quiet_NaN()));
}

/// `kernelOf`: the pair's kernel in a table.
template <class T, class F>
void checkPair(const char* name, F kernelOf) {
  std::vector<T> x = randomValues<T>(20'000, {3.0}, 21), y = randomValues<T>(20'000, {40.0}, 22);
  for (T a : specialValues<T>())
    for (T b : specialValues<T>()) x.push_back(a), y.push_back(b);
  std::vector<T> expected, out(x.size());
  for (size_t i = 0; i < x.size(); ++i) expected.push_back(kernelOf(*supportedKernels().front()).one(x[i], y[i]));
  for (const Kernels* kernels : supportedKernels()) {
    const Binary<T>& kernel = kernelOf(*kernels);
    kernel.loop(out.data(), x.data(), y.data(), static_cast<int64_t>(x.size()));
    expectSame(kernels->isa, name, x, out, expected);
    for (size_t i = 0; i < x.size(); ++i) out[i] = kernel.one(x[i], y[i]);
    expectSame(kernels->isa, name, x, out, expected);
  }
}

TEST(Identity, Pow) {
  checkPair<float>("pow", [](const Kernels& k) -> const Binary<float>& { return k.pow_float; });
  checkPair<double>("pow", [](const Kernels& k) -> const Binary<double>& { return k.pow_double; });
}

TEST(Identity, Pairs) {
  for (size_t i = 0; i < supportedKernels().front()->pairs.size(); ++i) {
    const char* name = supportedKernels().front()->pairs[i].name;
    checkPair<float>(name, [i](const Kernels& k) -> const Binary<float>& { return k.pairs[i].as<float>(); });
    checkPair<double>(name, [i](const Kernels& k) -> const Binary<double>& { return k.pairs[i].as<double>(); });
  }
}

}  // namespace
}  // namespace shunt::math_test
