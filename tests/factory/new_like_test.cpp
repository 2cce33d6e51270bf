// newCpuTensorLike makes what makeCpuTensor makes of the same sizes: with a block from the thread's lists or without.
#include <shunt/shunt.h>

#include <gtest/gtest.h>

namespace {

using namespace shunt;

void expectTheSame(const std::vector<int64_t>& sizes, ScalarType dtype, const Tensor& like) {
  const Tensor a(detail::makeCpuTensor(sizes, {}, dtype));
  const Tensor b(intrusive_ptr<TensorImpl>::reclaim(detail::newCpuTensorLike(*like.unsafeGetTensorImpl(), dtype)));
  const TensorImpl &x = *a.unsafeGetTensorImpl(), &y = *b.unsafeGetTensorImpl();
  EXPECT_EQ(x.sizes(), y.sizes());
  EXPECT_EQ(x.strides(), y.strides()) << a.sizes();
  EXPECT_EQ(x.numel(), y.numel());
  EXPECT_EQ(x.storage_offset(), y.storage_offset());
  EXPECT_EQ(x.signature(), y.signature()) << a.sizes();
  EXPECT_EQ(x.key_set(), y.key_set());
  EXPECT_EQ(x.is_contiguous(), y.is_contiguous());
  EXPECT_EQ(x.storage()->nbytes(), y.storage()->nbytes()) << a.sizes();
  EXPECT_EQ(x.storage()->data() == nullptr, y.storage()->data() == nullptr);
  EXPECT_EQ(y.is_inference(), InferenceMode::is_enabled());
  if (y.numel() != 0) b.fill_(1);  // the memory is there: AddressSanitizer looks
  EXPECT_TRUE(b.eq(1).all().item().toBool());
}

const std::vector<std::vector<int64_t>> kSizes = {
    {},
    {0},
    {1},
    {16},
    {1024},
    {1025},
    {100000},
    {3, 0, 2},
    {1, 1, 1},
    {4, 4},
    {2, 1},
    {2, 3, 4, 5},
    {1, 2, 1, 3, 1},
    {1, 2, 3, 1, 2, 1},
    {2, 2, 2, 2, 2, 2, 2},
    {64, 17},
};

TEST(NewLike, IsTheTensorOfTheseSizes) {
  for (const auto& sizes : kSizes)
    for (const ScalarType dtype : {kFloat, kDouble, kBool, kHalf, kLong}) {
      expectTheSame(sizes, dtype, shunt::empty(sizes));
      expectTheSame(sizes, dtype, shunt::empty(sizes, TensorOptions(kDouble)));
      const InferenceMode inference;
      expectTheSame(sizes, dtype, shunt::empty(sizes));
    }
}

TEST(NewLike, OfOtherStridesIsRowMajor) {
  expectTheSame({3, 4}, kFloat, shunt::empty({4, 3}).t());
  expectTheSame({5, 7}, kFloat, shunt::empty({1, 7}).expand({5, 7}));
  expectTheSame({1, 6}, kFloat, shunt::empty({6}).as_strided({1, 6}, {77, 1}));
}

// Its bytes don't fit into 64 bits, and its elements are all one.
TEST(NewLike, OfTooManyElementsThrows) {
  const Tensor one = zeros({1});
  const Tensor like = one.expand({int64_t{1} << 31, int64_t{1} << 31});
  EXPECT_ANY_THROW(detail::newCpuTensorLike(*like.unsafeGetTensorImpl(), kDouble));
}

}  // namespace
