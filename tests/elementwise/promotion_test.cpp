// Type promotion: result dtypes as torch.result_type gives them, and errors.
#include "kernels/pointwise/promote.h"
#include "tests/elementwise/elementwise_test_util.h"

namespace shunt::elementwise_test {
namespace {

using elementwise::run;
using functors::Add;

Tensor filled(ScalarType dtype, const Sizes& sizes) {
  Tensor t = makeTensor(dtype, sizes);
  dispatchAllTypes(dtype, "fill", [&]<class T>(std::type_identity<T>) {
    for (int64_t i = 0; i < t.numel(); ++i) put<T>(t, i, cast<T>(3));
  });
  return t;
}

TEST(Promotion, TensorsOfEqualRank) {
  // The order of the table's rows and columns; PyTorch's lattice.
  constexpr ScalarType kOrder[] = {kBool, kByte, kChar, kShort, kInt, kLong, kHalf, kBFloat16, kFloat, kDouble};
  constexpr ScalarType b = kBool, u = kByte, i1 = kChar, i2 = kShort, i4 = kInt, i8 = kLong, f2 = kHalf, bf = kBFloat16,
                       f4 = kFloat, f8 = kDouble;
  constexpr ScalarType kTable[10][10] = {
      {b, u, i1, i2, i4, i8, f2, bf, f4, f8},   {u, u, i2, i2, i4, i8, f2, bf, f4, f8},
      {i1, i2, i1, i2, i4, i8, f2, bf, f4, f8}, {i2, i2, i2, i2, i4, i8, f2, bf, f4, f8},
      {i4, i4, i4, i4, i4, i8, f2, bf, f4, f8}, {i8, i8, i8, i8, i8, i8, f2, bf, f4, f8},
      {f2, f2, f2, f2, f2, f2, f2, f4, f4, f8}, {bf, bf, bf, bf, bf, bf, f4, bf, f4, f8},
      {f4, f4, f4, f4, f4, f4, f4, f4, f4, f8}, {f8, f8, f8, f8, f8, f8, f8, f8, f8, f8}};
  for (int r = 0; r < 10; ++r)
    for (int c = 0; c < 10; ++c)
      for (const Sizes& sizes : {Sizes{3}, Sizes{}}) {
        const Scalar alpha = kTable[r][c] == kBool ? Scalar(true) : Scalar(1);
        EXPECT_EQ(run<Add>("add", filled(kOrder[r], sizes), filled(kOrder[c], sizes), alpha).dtype(), kTable[r][c])
            << kOrder[r] << " + " << kOrder[c];
      }
}

struct Mixed {
  ScalarType tensor;
  Scalar number;
  ScalarType expected;
};

TEST(Promotion, NumbersOnlyRaiseTheCategory) {
  const Mixed cases[] = {{kFloat, 2.5, kFloat},      {kHalf, 2.5, kHalf},  {kBFloat16, 7, kBFloat16},
                         {kDouble, 2, kDouble},      {kInt, 2, kInt},      {kByte, 300, kByte},
                         {kInt, 2.5, kFloat},        {kLong, 2.5, kFloat}, {kBool, 1, kLong},
                         {kBool, 2.5, kFloat},       {kChar, true, kChar}, {kFloat, true, kFloat},
                         {kShort, 1LL << 40, kShort}};
  for (const Mixed& m : cases) {
    // As a Scalar, as a wrapped number, on either side: one answer.
    const Tensor t = filled(m.tensor, {4});
    EXPECT_EQ(run<functors::Mul>("mul", t, m.number).dtype(), m.expected) << m.tensor << " * " << m.number;
    EXPECT_EQ(run<functors::Mul>("mul", m.number, t).dtype(), m.expected) << m.number << " * " << m.tensor;
    EXPECT_EQ(run<functors::Mul>("mul", t, wrapped(m.number)).dtype(), m.expected) << m.tensor;
    EXPECT_EQ(run<functors::Mul>("mul", filled(m.tensor, {}), m.number).dtype(), m.expected) << m.tensor;
  }
  EXPECT_EQ(run<functors::Mul>("mul", wrapped(2.5), wrapped(2)).dtype(), kFloat);
  EXPECT_EQ(run<functors::Mul>("mul", wrapped(2.5), wrapped(1.5)).dtype(), kDouble);
}

TEST(Promotion, ZeroDimTensorsRankBelowOnesWithDimensions) {
  EXPECT_EQ(run<Add>("add", filled(kFloat, {2}), filled(kDouble, {}), 1).dtype(), kFloat);
  EXPECT_EQ(run<Add>("add", filled(kDouble, {}), filled(kFloat, {2}), 1).dtype(), kFloat);
  EXPECT_EQ(run<Add>("add", filled(kInt, {2}), filled(kLong, {}), 1).dtype(), kInt);
  EXPECT_EQ(run<Add>("add", filled(kInt, {2}), filled(kDouble, {}), 1).dtype(), kDouble);
  EXPECT_EQ(run<Add>("add", filled(kBool, {2}), filled(kByte, {}), 1).dtype(), kByte);
  EXPECT_EQ(run<Add>("add", filled(kInt, {}), 2.5, 1).dtype(), kFloat);
}

TEST(Promotion, ValuesAreCastToTheCommonDtype) {
  EXPECT_EQ(valuesOf<uint8_t>(run<Add>("add", tensorOf<uint8_t>({250, 1}), 300, 1)), (std::vector<uint8_t>{38, 45}));
  EXPECT_EQ(valuesOf<float>(run<Add>("add", tensorOf<int32_t>({1, 2}), 0.5, 1)), (std::vector<float>{1.5f, 2.5f}));
  EXPECT_EQ(valuesOf<int64_t>(run<Add>("add", tensorOf<bool>({true, false}), 1, 1)), (std::vector<int64_t>{2, 1}));
  // int64 -> bfloat16 rounds before the operation.
  const Tensor r =
      run<Add>("add", tensorOf<BFloat16>({BFloat16(0.0f), BFloat16(0.0f)}), tensorOf<int64_t>({257, 258}), 1);
  EXPECT_EQ(static_cast<float>(get<BFloat16>(r, 0)), 256.0f);
  EXPECT_EQ(static_cast<float>(get<BFloat16>(r, 1)), 258.0f);
}

TEST(Promotion, IntegersBecomeTheDefaultDtype) {
  EXPECT_EQ(run<functors::Exp>("exp", filled(kLong, {2})).dtype(), kFloat);
  EXPECT_EQ(run<functors::Div>("div", filled(kInt, {2}), filled(kByte, {2})).dtype(), kFloat);
  EXPECT_EQ(run<functors::Exp>("exp", filled(kHalf, {2})).dtype(), kHalf);
  set_default_dtype(kDouble);
  EXPECT_EQ(run<functors::Exp>("exp", filled(kBool, {2})).dtype(), kDouble);
  EXPECT_EQ(run<Add>("add", filled(kLong, {2}), 2.5, 1).dtype(), kDouble);
  set_default_dtype(kFloat);
}

TEST(Promotion, ComparisonsAndPredicatesGiveBool) {
  EXPECT_EQ(run<functors::Lt>("lt", filled(kInt, {2}), filled(kDouble, {2})).dtype(), kBool);
  EXPECT_EQ(valuesOf<bool>(run<functors::Lt>("lt", tensorOf<int32_t>({1, 3}), 2.5)), (std::vector<bool>{true, false}));
  EXPECT_EQ(run<functors::IsNan>("isnan", filled(kLong, {2})).dtype(), kBool);
  // The bool number is promoted with the tensor, not the other way round.
  EXPECT_EQ(valuesOf<bool>(run<functors::Eq>("eq", tensorOf<float>({1.0f, 2.0f}), true)),
            (std::vector<bool>{true, false}));
}

TEST(Promotion, MasksTakeNoPart) {
  const Tensor mask = tensorOf<bool>({true, false});
  const Tensor r = run<functors::Where>("where", mask, tensorOf<int32_t>({1, 2}), tensorOf<double>({0.5, 0.25}));
  EXPECT_EQ(valuesOf<double>(r), (std::vector<double>{1, 0.25}));
  const Tensor bytes = run<functors::Where>("where", tensorOf<uint8_t>({2, 0}), tensorOf<float>({1, 2}), 5);
  EXPECT_EQ(valuesOf<float>(bytes), (std::vector<float>{1, 5}));
  EXPECT_ERROR(run<functors::Where>("where", tensorOf<float>({1, 0}), 1, 2),
               "expected condition to be a boolean tensor, but got a tensor with dtype Float");
  EXPECT_EQ(run<functors::MaskedFill>("masked_fill", filled(kInt, {2}), mask, 2.5).dtype(), kInt);
  EXPECT_ERROR(run<functors::MaskedFill>("masked_fill", filled(kByte, {2}), mask, 1000), "without overflow");
}

TEST(Promotion, Refusals) {
  const Tensor b = filled(kBool, {2}), i = filled(kInt, {2}), f = filled(kFloat, {2});
  EXPECT_ERROR(run<functors::Sub>("sub", b, b, 1), "with two bool tensors is not supported");
  EXPECT_ERROR(run<functors::Sub>("sub", b, i, 1), "with a bool tensor is not supported");
  EXPECT_ERROR(run<functors::Neg>("neg", b), "on a bool tensor is not supported");
  EXPECT_ERROR(run<Add>("add", i, i, 1.5),
               "For integral input tensors, argument alpha must not be a floating point number");
  EXPECT_ERROR(run<Add>("add", i, i, true), "Boolean alpha only supported for Boolean results");
  EXPECT_ERROR(run<Add>("add", f, f, true), "Boolean alpha only supported for Boolean results");
  EXPECT_ERROR(run<functors::BitwiseAnd>("bitwise_and", f, f), "\"bitwise_and\" not implemented for 'Float'");
  EXPECT_ERROR(run<functors::Relu>("relu", b), "Boolean inputs not supported for relu");
  EXPECT_ERROR(run<functors::Addcdiv>("addcdiv", i, i, i, 1), "Integer division with addcdiv is no longer supported");
  EXPECT_ERROR(run<functors::LerpScalar>("lerp", f, filled(kDouble, {2}), 0.5),
               "expected dtype Float for `end` but got dtype Double");
  EXPECT_ERROR(run<functors::Gelu>("gelu", i), "\"gelu\" not implemented for 'Int'");
}

}  // namespace
}  // namespace shunt::elementwise_test
