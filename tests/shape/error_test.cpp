// Bad input of shape operators: each is an error that says what is wrong, and changes nothing.
#include "tests/shape/util.h"

#include <limits>

namespace shunt {
namespace {

using testing::errorOf;
using testing::expectErrors;
using testing::iota;

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max() / 2;

TEST(ShapeErrors, Views) {
  const Tensor t = iota({2, 3});
  const Tensor scalar = iota({});
  const Tensor undefined;
  expectErrors({
      {"wrong numel", [&] { t.view({4}); }, "shape '[4]' is invalid for input of size 6"},
      {"two inferred", [&] { t.view({-1, -1}); }, "only one dimension can be inferred"},
      {"negative", [&] { t.view({-2, 3}); }, "invalid shape dimension -2"},
      {"not divisible", [&] { t.reshape({4, -1}); }, "shape '[4, -1]' is invalid for input of size 6"},
      {"ambiguous", [&] { iota({0, 3}).view({0, -1}); },
       "unspecified dimension size -1 can be any value and is ambiguous"},
      {"overflow", [&] { t.view({kHuge, kHuge}); }, "is invalid for input of size 6"},
      {"incompatible", [&] { t.t().view({6}); }, "Use .reshape(...) instead."},
      {"undefined self", [&] { undefined.view({1}); }, "undefined"},
      {"undefined reshape", [&] { undefined.reshape({1}); }, "undefined"},
      {"transpose range", [&] { t.transpose(0, 2); },
       "Dimension out of range (expected to be in range of [-2, 1], but got 2)"},
      {"transpose scalar", [&] { scalar.transpose(0, 1); },
       "Dimension out of range (expected to be in range of [-1, 0], but got 1)"},
      {"t of 3D", [&] { iota({1, 2, 3}).t(); }, "t() expects a tensor with <= 2 dimensions, but self is 3D"},
      {"permute count", [&] { t.permute({0}); }, "number of dimensions in the tensor input does not match"},
      {"permute repeat", [&] { t.permute({0, -2}); }, "repeated dim"},
      {"permute range", [&] { t.permute({0, 5}); }, "Dimension out of range"},
      {"expand fewer", [&] { t.expand({3}); },
       "the number of sizes provided (1) must be greater or equal to the number of dimensions in the tensor (2)"},
      {"expand mismatch", [&] { t.expand({2, 4}); },
       "The expanded size of the tensor (4) must match the existing size (3) at non-singleton dimension 1.  Target "
       "sizes: [2, 4].  Tensor sizes: [2, 3]"},
      {"expand leading -1", [&] { t.expand({-1, 2, 3}); }, "isn't allowed in a leading, non-existing dimension 0"},
      {"expand overflow", [&] { iota({1, 1}).expand({kHuge, kHuge}); }, "overflow"},
      {"squeeze range", [&] { t.squeeze(2); }, "Dimension out of range"},
      {"unsqueeze range", [&] { t.unsqueeze(3); },
       "Dimension out of range (expected to be in range of [-3, 2], but got 3)"},
      {"select scalar", [&] { scalar.select(0, 0); }, "select() cannot be applied to a 0-dim tensor."},
      {"select range", [&] { t.select(0, 2); },
       "select(): index 2 out of range for tensor of size [2, 3] at dimension 0"},
      {"select negative range", [&] { t.select(1, -4); }, "select(): index -4 out of range"},
      {"slice scalar", [&] { scalar.slice(0); }, "slice() cannot be applied to a 0-dim tensor."},
      {"slice step", [&] { t.slice(0, 0, 1, 0); }, "slice step must be positive"},
      {"narrow scalar", [&] { scalar.narrow(0, 0, 1); }, "narrow() cannot be applied to a 0-dim tensor."},
      {"narrow negative", [&] { t.narrow(0, 0, -1); }, "narrow(): length must be non-negative"},
      {"narrow start", [&] { t.narrow(0, 3, 0); },
       "start out of range (expected to be in range of [-2, 2], but got 3)"},
      {"narrow end", [&] { t.narrow(1, 1, 3); }, "start (1) + length (3) exceeds dimension size (3)."},
      {"narrow overflow", [&] { t.narrow(1, 1, std::numeric_limits<int64_t>::max()); }, "exceeds dimension size (3)."},
      {"as_strided lengths", [&] { t.as_strided({2}, {1, 1}); }, "mismatch in length of strides and shape"},
      {"as_strided negative", [&] { t.as_strided({2}, {-1}); },
       "Negative strides are not supported at the moment, got strides: [-1]"},
      {"as_strided negative size", [&] { t.as_strided({-2}, {1}); }, "negative dimension -2"},
      {"as_strided bounds", [&] { t.as_strided({7}, {1}); }, "are out of bounds for storage of size 24"},
      {"as_strided offset", [&] { t.as_strided({2}, {1}, 5); }, "are out of bounds for storage of size 24"},
      {"as_strided negative offset", [&] { t.as_strided({2}, {1}, -1); }, "invalid storage offset -1"},
      {"as_strided overflow", [&] { t.as_strided({kHuge}, {kHuge}); }, "overflow"},
      {"diagonal same", [&] { t.diagonal(0, 1, -1); }, "diagonal dimensions cannot be identical 1, -1"},
      {"flatten order", [&] { t.flatten(1, 0); }, "flatten() has invalid args: start_dim cannot come after end_dim"},
      {"split scalar", [&] { scalar.split(1); }, "split expects at least a 1-dimensional tensor"},
      {"split negative", [&] { t.split(-1); }, "split expects split_size be non-negative, but got split_size=-1"},
      {"split zero", [&] { t.split(0); },
       "split_size can only be 0 if dimension size is 0, but got dimension size of 2"},
      {"split sizes sum", [&] { t.split_with_sizes({1, 2}); },
       "split_with_sizes expects split_sizes to sum exactly to 2"},
      {"split sizes negative", [&] { t.split_with_sizes({3, -1}); }, "split_with_sizes expects split_sizes"},
      {"chunk zero", [&] { t.chunk(0); }, "chunk expects `chunks` to be greater than 0, got: 0"},
      {"unbind scalar", [&] { scalar.unbind(); }, "Dimension specified as 0 but tensor has no dimensions"},
  });
  EXPECT_EQ(t.sizes().vec(), (std::vector<int64_t>{2, 3}));
}

TEST(ShapeErrors, CopiesAndJoins) {
  Tensor t = iota({2, 3});
  Tensor longs = iota({2, 2}, kLong);
  Tensor meta = shunt::empty({2, 3}, TensorOptions(kMeta));
  const Tensor index = shunt::tensor({0, 1});
  expectErrors({
      {"copy sizes", [&] { t.copy_(iota({4})); },
       "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1"},
      {"copy more dims", [&] { t.copy_(iota({2, 2, 3})); }, "doesn't match the broadcast shape"},
      {"copy grows", [&] { iota({1, 3}).copy_(iota({2, 3})); }, "doesn't match the broadcast shape"},
      {"copy undefined", [&] { t.copy_(Tensor()); }, "undefined"},
      {"copy from meta", [&] { t.copy_(meta); }, "Cannot copy out of meta tensor; no data!"},
      {"meta to cpu", [&] { meta.to(Device("cpu")); }, "Cannot copy out of meta tensor; no data!"},
      {"fill tensor dims", [&] { t.fill_(iota({1})); },
       "fill_ only supports 0-dimension value tensor but got tensor with 1 dimensions."},
      {"fill overflow", [&] { iota({2}, kChar).fill_(300); }, "without overflow"},
      {"fill half overflow", [&] { iota({2}, kHalf).fill_(70000); }, "type Half without overflow: 70000"},
      {"fill float overflow", [&] { t.fill_(1e300); }, "type Float without overflow"},
      {"fill nan", [&] { longs.fill_(std::numeric_limits<double>::quiet_NaN()); }, "overflow"},
      {"contiguous preserve", [&] { iota({2, 3}).t().contiguous(MemoryFormat::Preserve); },
       "preserve memory format is unsupported by the contiguous operator"},
      {"channels_last rank", [&] { t.contiguous(MemoryFormat::ChannelsLast); },
       "required rank 4 tensor to use channels_last format"},
      {"to complex", [&] { t.to(ScalarType::ComplexFloat); }, "complex"},
      {"to cuda", [&] { t.to(Device("cuda")); }, "CUDA"},
      {"to pinned", [&] { t.to(TensorOptions().pinned_memory(true)); },
       "Cannot access accelerator device when none is available."},
      {"resize negative", [&] { t.resize_({-1}); }, "negative dimension -1"},
      {"resize overflow", [&] { t.resize_({kHuge, 2}); }, "overflow"},
      {"cat nothing", [&] { shunt::cat(TensorList()); }, "expected a non-empty list of Tensors"},
      {"cat scalar", [&] { shunt::cat({t, iota({})}); },
       "zero-dimensional tensor (at position 1) cannot be concatenated"},
      {"cat dims", [&] { shunt::cat({t, iota({3})}); }, "Tensors must have same number of dimensions: got 2 and 1"},
      {"cat sizes", [&] { shunt::cat({t, iota({2, 2})}); },
       "Sizes of tensors must match except in dimension 0. Expected size 3 but got size 2 for tensor number 1 in the "
       "list."},
      {"cat dim", [&] { shunt::cat({t, t}, 2); }, "Dimension out of range"},
      {"cat undefined", [&] { shunt::cat({t, Tensor()}); }, "undefined"},
      {"cat out type", [&] { shunt::cat_out(longs, {t, t}); },
       "input types can't be cast to the desired output type Long"},
      {"cat out overlap", [&] { shunt::cat_out(t, {t, t}); },
       "the input tensors cannot refer to any of the output memory locations"},
      {"cat out is an empty input",
       [&] {
         Tensor none = iota({0});
         shunt::cat_out(none, {none, t});
       },
       "the input tensors cannot refer to any of the output memory locations"},
      {"stack nothing", [&] { shunt::stack(TensorList()); }, "stack expects a non-empty TensorList"},
      {"stack sizes", [&] { shunt::stack({t, iota({2, 2})}); },
       "stack expects each tensor to be equal size, but got [2, 3] at entry 0 and [2, 2] at entry 1"},
      {"index dims", [&] { t.index_select(0, longs); }, "Index is supposed to be a vector"},
      {"index type", [&] { t.index_select(0, iota({1})); }, "Expected dtype int32 or int64 for index"},
      {"index range", [&] { t.index_select(0, shunt::tensor({2})); }, "index out of range in self"},
      {"index negative", [&] { t.index_select(0, shunt::tensor({-1})); }, "index out of range in self"},
      {"index scalar", [&] { iota({}).index_select(0, index); },
       "Index to scalar can have only 1 value, got 2 value(s)"},
      {"index out type", [&] { shunt::index_select_out(longs, t, 0, index); },
       "self and result must have the same scalar type"},
      {"index_add type", [&] { t.index_add_(0, index, iota({2, 3}, kDouble)); },
       "self (Float) and source (Double) must have the same scalar type"},
      {"index_add count", [&] { t.index_add_(0, shunt::tensor({0}), t.clone()); },
       "Number of indices (1) should be equal to source.size(dim): (2), for dim: 0"},
      {"index_add shape", [&] { t.index_add_(0, index, iota({2, 2})); },
       "source tensor shape must match self tensor shape"},
      {"index_add range", [&] { t.index_add_(0, shunt::tensor({0, 9}), t.clone()); }, "index out of range in self"},
  });
  EXPECT_EQ(testing::valuesOf(t), testing::counted(6));
  EXPECT_EQ(testing::valuesOf(longs), testing::counted(4));
}

/// The class of what `f` throws.
template <class F>
std::string kindOf(F&& f) {
  try {
    f();
  } catch (const IndexError&) {
    return "IndexError";
  } catch (const ValueError&) {
    return "ValueError";
  } catch (const TypeError&) {
    return "TypeError";
  } catch (const Error&) {
    return "Error";
  }
  return "none";
}

TEST(ShapeErrors, AreOfPyTorchsKinds) {
  const Tensor t = shunt::ones({2, 3}), scalar = shunt::ones({});
  const Tensor at = shunt::full({1, 1}, 5, kLong), five = shunt::full({1}, 5, kLong);
  EXPECT_EQ(kindOf([] { shunt::cat({}); }), "ValueError");
  EXPECT_EQ(kindOf([&] { t.gather(0, at); }), "Error");
  EXPECT_EQ(kindOf([&] { t.scatter(0, at, 1.); }), "Error");
  EXPECT_EQ(kindOf([&] { t.index_select(0, five); }), "IndexError");
  EXPECT_EQ(kindOf([&] { t.index_add(0, five, shunt::ones({1, 3})); }), "Error");
  EXPECT_EQ(kindOf([&] { shunt::ones({3}).index_add(0, five, shunt::ones({1})); }), "IndexError");
  EXPECT_EQ(kindOf([&] { scalar.slice(0); }), "IndexError");
  EXPECT_EQ(kindOf([&] { t.slice(0, 0, 1, 0); }), "Error");
  EXPECT_EQ(kindOf([&] { t.index({indexing::Slice(std::nullopt, std::nullopt, -1)}); }), "ValueError");
  EXPECT_EQ(kindOf([] { indexing::Slice(0, 1, 0); }), "ValueError");
  EXPECT_EQ(kindOf([] { shunt::arange(0, 5, 0); }), "Error");
  EXPECT_EQ(kindOf([] { shunt::arange(0, 5, 0.5, kLong); }), "ValueError");
  EXPECT_EQ(kindOf([&] { shunt::nll_loss_nd(t, shunt::zeros({1}, kLong)); }), "ValueError");
  EXPECT_EQ(kindOf([&] { shunt::nll_loss_nd(scalar, shunt::zeros({}, kLong)); }), "ValueError");
}

TEST(ShapeErrors, OutOfRangeIsAnIndexError) {
  const Tensor t = iota({2, 3});
  EXPECT_THROW(t.select(0, 5), IndexError);
  EXPECT_THROW(t.transpose(0, 5), IndexError);
  EXPECT_THROW(t.index_select(0, shunt::tensor({7})), IndexError);
  EXPECT_THROW(shunt::empty({2}, TensorOptions(kMeta)).to(Device("cpu")), NotImplementedError);
}

}  // namespace
}  // namespace shunt
