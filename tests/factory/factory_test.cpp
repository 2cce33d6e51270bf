// empty, zeros, full, arange, linspace, eye and shunt::tensor.
#include "tests/shape/util.h"

#include <limits>

namespace shunt {
namespace {

using testing::counted;
using ::testing::ElementsAre;
using testing::errorOf;
using testing::expectErrors;
using testing::iota;
using testing::valuesOf;

TEST(Factory, EmptyHasTheOptions) {
  const Tensor t = shunt::empty({2, 3});
  EXPECT_EQ(t.dtype(), kFloat);
  EXPECT_TRUE(t.is_cpu());
  EXPECT_TRUE(t.is_contiguous());
  EXPECT_FALSE(t.requires_grad());
  EXPECT_EQ(shunt::empty({}, kDouble).dim(), 0);
  EXPECT_EQ(shunt::empty({0, 4}, kInt).numel(), 0);
  EXPECT_TRUE(shunt::empty({2}, TensorOptions(kMeta).dtype(kHalf)).is_meta());
  EXPECT_TRUE(shunt::empty({2}, shunt::requires_grad()).requires_grad());
  EXPECT_EQ(shunt::empty({2, 3, 4, 5}, TensorOptions(MemoryFormat::ChannelsLast)).strides().vec(),
            (std::vector<int64_t>{60, 1, 15, 3}));
  EXPECT_EQ(shunt::empty_strided({2, 3}, {1, 2}).strides().vec(), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(shunt::empty_strided({}, {}).dim(), 0);
  EXPECT_EQ(t.new_empty({4}, kLong).dtype(), kLong);
  EXPECT_EQ(t.new_empty_strided({2, 2}, {1, 2}).strides().vec(), (std::vector<int64_t>{1, 2}));
}

TEST(Factory, LikeADenseTensorIsWithItsStrides) {
  const Tensor one = shunt::empty({18}).as_strided({1, 1, 1, 3}, {3, 1, 3, 1}), turned = shunt::empty({2, 3}).t();
  for (const Tensor& t : {one, turned}) {
    EXPECT_EQ(shunt::empty_like(t).strides().vec(), t.strides().vec());
    EXPECT_EQ(t.clone().strides().vec(), t.strides().vec());
  }
  EXPECT_EQ(shunt::empty_like(shunt::empty({3}).expand({2, 3})).strides().vec(), (std::vector<int64_t>{3, 1}));
}

TEST(Factory, FilledTensors) {
  for (ScalarType type : {kByte, kChar, kShort, kInt, kLong, kHalf, kFloat, kDouble, kBool, kBFloat16}) {
    SCOPED_TRACE(toString(type));
    EXPECT_EQ(valuesOf(shunt::zeros({2, 2}, type)), std::vector<double>(4, 0));
    EXPECT_EQ(valuesOf(shunt::ones({2, 2}, type)), std::vector<double>(4, 1));
    EXPECT_EQ(shunt::full({2}, 1, type).dtype(), type);
    const Tensor like = iota({2, 3}, type).t();
    EXPECT_EQ(shunt::zeros_like(like).strides().vec(), like.strides().vec());
    EXPECT_EQ(valuesOf(shunt::ones_like(like)), std::vector<double>(6, 1));
    EXPECT_EQ(valuesOf(shunt::full_like(like, 1)), std::vector<double>(6, 1));
    EXPECT_EQ(like.new_zeros({2}).dtype(), type);
    EXPECT_EQ(valuesOf(like.new_ones({2})), std::vector<double>(2, 1));
    EXPECT_EQ(valuesOf(like.new_full({2}, 1)), std::vector<double>(2, 1));
  }
  EXPECT_EQ(shunt::full({1}, true).dtype(), kBool);
  EXPECT_EQ(shunt::full({1}, 3).dtype(), kLong);
  EXPECT_EQ(shunt::full({1}, 3.5).dtype(), kFloat);
  EXPECT_EQ(shunt::scalar_tensor(3).dtype(), kFloat);
  EXPECT_EQ(shunt::zeros({3})._version(), 0);
  Tensor out = iota({4}, kInt);
  EXPECT_TRUE(shunt::full_out(out, {2}, 7).is_same(out));
  EXPECT_THAT(valuesOf(out), ElementsAre(7, 7));
  EXPECT_TRUE(shunt::zeros({2, 2}, TensorOptions(kMeta)).is_meta());
  EXPECT_EQ(shunt::ones_like(iota({2}), TensorOptions(kMeta)).device(), Device(kMeta));
}

struct RangeCase {
  Scalar start, end, step;
  ScalarType dtype;
  std::vector<double> values;
};

TEST(Factory, Arange) {
  const RangeCase cases[] = {
      {0, 4, 1, kLong, {0, 1, 2, 3}},
      {1, 8, 3, kLong, {1, 4, 7}},
      {5, 0, -2, kLong, {5, 3, 1}},
      {3, 3, 1, kLong, {}},
      {0.5, 2.0, 0.5, kFloat, {0.5, 1, 1.5}},
      {0, 1, 0.25, kDouble, {0, 0.25, 0.5, 0.75}},
      {0, 2.5, 1, kInt, {0, 1, 2}},
      {0, 300, 100, kHalf, {0, 100, 200}},
      {-2, 2, 2, kChar, {-2, 0}},
  };
  for (const RangeCase& c : cases) {
    const Tensor t = shunt::arange(c.start, c.end, c.step, c.dtype);
    EXPECT_EQ(t.dtype(), c.dtype);
    EXPECT_EQ(valuesOf(t), c.values) << c.start << ' ' << c.end << ' ' << c.step;
  }
  EXPECT_EQ(shunt::arange(3).dtype(), kLong);
  EXPECT_EQ(shunt::arange(3.0).dtype(), kFloat);
  EXPECT_EQ(shunt::arange(0, 1, 0.5).dtype(), kFloat);
  EXPECT_THAT(valuesOf(shunt::arange(2, 5)), ElementsAre(2, 3, 4));
  for (const ScalarType whole : {kByte, kInt, kLong})
    EXPECT_EQ(shunt::arange(-0.5, whole).numel(), 0) << whole;  // from 0 to 0
  Tensor out = iota({2, 2}, kDouble);
  shunt::arange_out(out, 4);
  EXPECT_EQ(out.sizes().vec(), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(valuesOf(out), counted(4));
  shunt::arange_out(out, 0, 6, 2);
  EXPECT_THAT(valuesOf(out), ElementsAre(0, 2, 4));
}

TEST(Factory, LinspaceAndEye) {
  EXPECT_THAT(valuesOf(shunt::linspace(0, 1, 5)), ElementsAre(0, 0.25, 0.5, 0.75, 1));
  EXPECT_THAT(valuesOf(shunt::linspace(3, -3, 3, kLong)), ElementsAre(3, 0, -3));
  EXPECT_THAT(valuesOf(shunt::linspace(2, 7, 1)), ElementsAre(2));
  EXPECT_EQ(shunt::linspace(2, 7, 0).numel(), 0);
  EXPECT_EQ(valuesOf(shunt::linspace(0, 0.1, 7, kDouble)).back(), 0.1);
  EXPECT_THAT(valuesOf(shunt::eye(2)), ElementsAre(1, 0, 0, 1));
  EXPECT_THAT(valuesOf(shunt::eye(2, 3, kBool)), ElementsAre(1, 0, 0, 0, 1, 0));
  EXPECT_EQ(shunt::eye(0, 3).sizes().vec(), (std::vector<int64_t>{0, 3}));
  Tensor out = iota({2, 2}).t();
  shunt::eye_out(out, 2);
  EXPECT_THAT(valuesOf(out), ElementsAre(1, 0, 0, 1));
}

TEST(Factory, TensorFromNumbers) {
  EXPECT_EQ(shunt::tensor(5).dim(), 0);
  EXPECT_EQ(shunt::tensor(5).dtype(), kLong);
  EXPECT_EQ(shunt::tensor(5.0).dtype(), kFloat);
  EXPECT_EQ(shunt::tensor(true).dtype(), kBool);
  EXPECT_EQ(shunt::tensor(Half(1.0f)).dtype(), kHalf);
  EXPECT_EQ(shunt::tensor(5, kDouble).item<double>(), 5.0);
  EXPECT_THAT(valuesOf(shunt::tensor({1., 2.})), ElementsAre(1, 2));
  EXPECT_EQ(shunt::tensor({5}).sizes().vec(), (std::vector<int64_t>{1}));
  EXPECT_EQ(shunt::tensor({{1, 2}, {3, 4}, {5, 6}}).sizes().vec(), (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(shunt::tensor({{{1, 2}, {3, 4}}}).sizes().vec(), (std::vector<int64_t>{1, 2, 2}));
  EXPECT_EQ(valuesOf(shunt::tensor({{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}}, kFloat)), counted(8, 1));
  EXPECT_EQ(shunt::tensor(std::vector<int32_t>{1, 2}).dtype(), kLong);
  EXPECT_EQ(shunt::tensor(std::vector<uint8_t>{1, 2}).dtype(), kByte);
  EXPECT_THAT(valuesOf(shunt::tensor(std::vector<float>{1.5f, 2.5f})), ElementsAre(1.5, 2.5));
  EXPECT_EQ(shunt::tensor({}).sizes().vec(), (std::vector<int64_t>{0}));
  EXPECT_TRUE(shunt::tensor({1., 2.}, shunt::requires_grad()).requires_grad());
  EXPECT_TRUE(shunt::tensor({1., 2.}, TensorOptions(kMeta)).is_meta());
}

TEST(Factory, Errors) {
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max() / 2;
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  Tensor bools = iota({2}, kBool);
  expectErrors({
      {"negative", [] { shunt::empty({2, -1}); }, "Trying to create tensor with negative dimension -1: [2, -1]"},
      {"numel overflow", [] { shunt::empty({kHuge, 4}); }, "overflow"},
      {"bytes overflow", [] { shunt::empty({kHuge}); }, "overflow"},
      {"zeros negative", [] { shunt::zeros({-3}); }, "zeros: Trying to create tensor with negative dimension -3"},
      {"complex", [] { shunt::zeros({2}, ScalarType::ComplexFloat); }, "zeros(): dtype ComplexFloat is not supported"},
      {"quantized", [] { shunt::ones({2}, ScalarType::QInt8); }, "ones(): dtype QInt8 is not supported"},
      {"sparse", [] { shunt::full({2}, 1, TensorOptions(kSparse)); }, "full(): layout Sparse is not supported"},
      {"pinned", [] { shunt::empty({2}, TensorOptions().pinned_memory(true)); },
       "Cannot access accelerator device when none is available."},
      {"cuda", [] { shunt::empty({2}, TensorOptions(kCUDA)); }, "CUDA"},
      {"preserve", [] { shunt::empty({2}, TensorOptions(MemoryFormat::Preserve)); },
       "unsupported memory format option Preserve"},
      {"channels_last", [] { shunt::empty({2}, TensorOptions(MemoryFormat::ChannelsLast)); },
       "required rank 4 tensor to use channels_last format"},
      {"strides count", [] { shunt::empty_strided({2}, {1, 1}); }, "mismatch in length of strides and shape"},
      {"strides negative", [] { shunt::empty_strided({2}, {-1}); }, "Negative strides are not supported"},
      {"strides overflow", [] { shunt::empty_strided({kHuge}, {kHuge}); }, "overflow"},
      {"like undefined", [] { shunt::zeros_like(Tensor()); }, "zeros_like(): argument 'self' is an undefined tensor"},
      {"fill value", [] { shunt::full({2}, 1e10, kInt); }, "without overflow"},
      {"arange step", [] { shunt::arange(0, 2, 0.0); }, "step must be nonzero"},
      {"arange sign", [] { shunt::arange(0, 2, -1); }, "upper bound and larger bound inconsistent with step sign"},
      {"arange sign of a whole range", [] { shunt::arange(-1.5, kByte); },
       "upper bound and larger bound inconsistent with step sign"},
      {"arange nan", [] { shunt::arange(0, kNan); }, "unsupported range: 0 -> nan"},
      {"arange infinite", [] { shunt::arange(0, std::numeric_limits<double>::infinity()); },
       "unsupported range: 0 -> inf"},
      {"arange size", [] { shunt::arange(0, 1e300, 1e-300); }, "invalid size, possible overflow?"},
      {"arange bool", [&] { shunt::arange_out(bools, 2); }, "not implemented for 'Bool'"},
      {"linspace steps", [] { shunt::linspace(0, 1, -1); }, "number of steps must be non-negative"},
      {"eye", [] { shunt::eye(-1); }, "n must be greater or equal to 0, got -1"},
      {"eye m", [] { shunt::eye(1, -1); }, "m must be greater or equal to 0, got -1"},
      {"ragged", [] { shunt::tensor({{1, 2}, {3}}); },
       "Expected all sub-lists to have sizes: 2 (e.g. {1, 2}), but got sub-list {3} with sizes: 1"},
      {"mixed", [] { shunt::tensor({1, true}); },
       "Expected all elements of the tensor to have the same scalar type: Int, but got element of scalar type: Bool"},
      {"tensor complex", [] { shunt::tensor({1., 2.}, ScalarType::ComplexDouble); }, "omplex"},
      {"tensor range", [] { shunt::tensor({1, 300}, kChar); }, "without overflow"},
  });
}

TEST(FromBlob, FreesTheMemoryWithItsLastUser) {
  float data[6] = {0, 1, 2, 3, 4, 5};
  int freed = 0;
  {
    Tensor row;
    {
      const Tensor t = from_blob(data, {2, 3}, [&](void* p) { freed += p == data; }, kFloat);
      EXPECT_EQ(t.strides(), IntArrayRef({3, 1}));
      row = t[1];
    }
    EXPECT_EQ(freed, 0);
    EXPECT_EQ(row.sum().item<float>(), 12);
  }
  EXPECT_EQ(freed, 1);
}

}  // namespace
}  // namespace shunt
