// Sizes, dimensions and indices: views, joins, reductions.
#include "tests/errors/bed.h"

#include <limits>

namespace shunt::testing {

static constexpr int64_t kHuge = std::numeric_limits<int64_t>::max() / 2;

static std::vector<BadInput> viewCases() {
  return {
      {"view: wrong numel", {"view", "[4]", "size 6"}, [](Bed& bed) { bed.a.view({4}); }},
      {"view: two inferred", {"view", "only one dimension can be inferred"}, [](Bed& bed) { bed.a.view({-1, -1}); }},
      {"view: negative size", {"view", "-2"}, [](Bed& bed) { bed.a.view({-2, 3}); }},
      {"view: overflow", {"view", "size 6"}, [](Bed& bed) { bed.a.view({kHuge, kHuge}); }},
      {"view: strides in the way", {"view", "reshape"}, [](Bed& bed) { bed.a.t().view({6}); }},
      {"view: ambiguous", {"-1", "ambiguous"}, [](Bed& bed) { bed.empty.view({0, -1}); }},
      {"reshape: not divisible", {"reshape", "[4, -1]", "size 6"}, [](Bed& bed) { bed.a.reshape({4, -1}); }},
      {"expand: size",
       {"expand", "(4)", "(3)", "dimension 1", "[2, 4]", "[2, 3]"},
       [](Bed& bed) { bed.a.expand({2, 4}); }},
      {"expand: fewer dims", {"expand", "(1)", "(2)", "[3]", "[2, 3]"}, [](Bed& bed) { bed.a.expand({3}); }},
      {"expand: leading -1", {"expand", "-1", "dimension 0"}, [](Bed& bed) { bed.a.expand({-1, 2, 3}); }},
      {"expand: overflow", {"expand", "overflow"}, [](Bed& bed) { bed.scalar.expand({kHuge, kHuge}); }},
      {"permute: count", {"permute", "1", "2"}, [](Bed& bed) { bed.a.permute({0}); }},
      {"permute: repeated", {"permute", "repeated"}, [](Bed& bed) { bed.a.permute({0, -2}); }},
      {"permute: range", {"permute", "[-2, 1]", "5"}, [](Bed& bed) { bed.a.permute({0, 5}); }},
      {"transpose: range", {"transpose", "[-2, 1]", "2"}, [](Bed& bed) { bed.a.transpose(0, 2); }},
      {"t: three dimensions", {"t()", "3D"}, [](Bed& bed) { bed.cube.t(); }},
      {"squeeze: range", {"squeeze", "[-2, 1]", "2"}, [](Bed& bed) { bed.a.squeeze(2); }},
      {"unsqueeze: range", {"unsqueeze", "[-3, 2]", "3"}, [](Bed& bed) { bed.a.unsqueeze(3); }},
      {"flatten: order", {"flatten", "start_dim", "end_dim"}, [](Bed& bed) { bed.a.flatten(1, 0); }},
      {"size: range", {"[-2, 1]", "2"}, [](Bed& bed) { bed.a.size(2); }},
      {"as_strided: outside the storage", {"as_strided", "[7]", "24"}, [](Bed& bed) { bed.a.as_strided({7}, {1}); }},
      {"as_strided: lengths", {"as_strided", "strides", "shape"}, [](Bed& bed) { bed.a.as_strided({2}, {1, 1}); }},
      {"as_strided: negative stride", {"as_strided", "[-1]"}, [](Bed& bed) { bed.a.as_strided({2}, {-1}); }},
      {"as_strided: negative offset", {"as_strided", "-1"}, [](Bed& bed) { bed.a.as_strided({2}, {1}, -1); }},
      {"resize_: negative", {"resize_", "-1"}, [](Bed& bed) { bed.a.resize_({-1}); }},
      {"resize_: overflow", {"resize_", "overflow"}, [](Bed& bed) { bed.a.resize_({kHuge, 2}); }},
      {"resize_: memory of others",
       {"resize"},
       [](Bed& bed) { bed.x.resize_({100}); },
       [](Bed& bed) { bed.x = shunt::from_blob(bed.foreign.data.data(), {2}); }},
  };
}

static std::vector<BadInput> indexCases() {
  return {
      {"select: range", {"select", "index 2", "[2, 3]", "dimension 0"}, [](Bed& bed) { bed.a.select(0, 2); }},
      {"select: negative range", {"select", "index -4", "dimension 1"}, [](Bed& bed) { bed.a.select(1, -4); }},
      {"select: 0-dim", {"select", "0-dim"}, [](Bed& bed) { bed.scalar.select(0, 0); }},
      {"select: dimension", {"select", "[-2, 1]", "2"}, [](Bed& bed) { bed.a.select(2, 0); }},
      {"subscript: range", {"select", "index 7"}, [](Bed& bed) { bed.a[7]; }},
      {"slice: zero step", {"slice", "step", "positive"}, [](Bed& bed) { bed.a.slice(0, 0, 1, 0); }},
      {"slice: negative step", {"slice", "step", "positive"}, [](Bed& bed) { bed.a.slice(0, 0, 1, -1); }},
      {"narrow: beyond the end",
       {"narrow", "start (1)", "length (3)", "size (3)"},
       [](Bed& bed) { bed.a.narrow(1, 1, 3); }},
      {"narrow: start", {"narrow", "start", "[-2, 2]", "3"}, [](Bed& bed) { bed.a.narrow(0, 3, 0); }},
      {"narrow: negative length", {"narrow", "length", "non-negative"}, [](Bed& bed) { bed.a.narrow(0, 0, -1); }},
      {"index_select: range",
       {"index_select", "index", "out of range", "2"},
       [](Bed& bed) { bed.a.index_select(0, shunt::tensor({0, 2})); }},
      {"index_select: negative", {"index_select", "-1"}, [](Bed& bed) { bed.a.index_select(0, shunt::tensor({-1})); }},
      {"index_select: float index",
       {"index_select", "int64", "Float"},
       [](Bed& bed) { bed.a.index_select(0, bed.vec4); }},
      {"index_select: matrix index", {"index_select", "vector"}, [](Bed& bed) { bed.a.index_select(0, bed.longs); }},
      {"index_add_: range",
       {"index_add_", "out of range"},
       [](Bed& bed) { bed.a.index_add_(0, shunt::tensor({0, 9}), bed.a.clone()); }},
      {"index_add_: shape",
       {"index_add_", "[2, 3]", "[2, 4]"},
       [](Bed& bed) { bed.a.index_add_(0, shunt::tensor({0, 1}), bed.b); }},
      {"gather: range",
       {"gather", "index 3", "dimension 1", "size 3"},
       [](Bed& bed) { bed.a.gather(1, shunt::full({2, 1}, 3, TensorOptions(kLong))); }},
      {"gather: float index", {"gather", "int64", "Float"}, [](Bed& bed) { bed.a.gather(1, bed.a.clone()); }},
      {"gather: dimensions",
       {"gather", "dimensions", "[2, 3]"},
       [](Bed& bed) { bed.a.gather(0, shunt::tensor({0, 1})); }},
      {"gather: shape",
       {"gather", "dimension 0", "[3, 1]", "[2, 3]"},
       [](Bed& bed) { bed.a.gather(1, shunt::zeros({3, 1}, TensorOptions(kLong))); }},
      {"scatter_: range",
       {"scatter_", "index -1", "dimension 0", "size 2"},
       [](Bed& bed) { bed.a.scatter_(0, shunt::full({1, 3}, -1, TensorOptions(kLong)), 1); }},
      {"scatter_: shape",
       {"scatter_", "[3, 3]", "[2, 3]", "dimension 1"},
       [](Bed& bed) { bed.a.scatter_(1, shunt::zeros({3, 3}, TensorOptions(kLong)), 1); }},
      {"scatter_add_: source",
       {"scatter_add_", "[2, 2]", "src", "[2, 1]"},
       [](Bed& bed) {
         bed.a.scatter_add_(1, shunt::zeros({2, 2}, TensorOptions(kLong)), bed.a.slice(1, 0, 1).clone());
       }},
      {"scatter_add_: dtype",
       {"scatter_add_", "self.dtype", "src.dtype", "Float", "Double"},
       [](Bed& bed) { bed.a.scatter_add_(1, shunt::zeros({2, 2}, TensorOptions(kLong)), bed.a.to(kDouble)); }},
      {"take_along_dim: dimensions",
       {"take_along_dim", "2 dimensions", "1 dimensions"},
       [](Bed& bed) { shunt::take_along_dim(bed.a, shunt::tensor({0}), 1); }},
      {"embedding: weight",
       {"embedding", "2-D", "3"},
       [](Bed& bed) { shunt::embedding(bed.cube, shunt::tensor({0})); }},
      {"flip: repeated", {"dim 1", "multiple times"}, [](Bed& bed) { bed.a.flip({1, -1}); }},
      {"diag: dimensions", {"diag", "matrix or a vector"}, [](Bed& bed) { bed.cube.diag(); }},
      {"cat: nothing", {"cat", "non-empty"}, [](Bed&) { shunt::cat(TensorList()); }},
      {"cat: sizes", {"cat", "size 3", "size 4", "tensor number 1"}, [](Bed& bed) { shunt::cat({bed.a, bed.b}); }},
      {"cat: dims", {"cat", "2", "1"}, [](Bed& bed) { shunt::cat({bed.a, bed.vec4}); }},
      {"cat: 0-dim", {"cat", "zero-dimensional", "position 1"}, [](Bed& bed) { shunt::cat({bed.vec4, bed.scalar}); }},
      {"cat: dimension", {"cat", "[-2, 1]", "2"}, [](Bed& bed) { shunt::cat({bed.a, bed.a}, 2); }},
      {"stack: sizes", {"stack", "[2, 3]", "[2, 4]", "entry 1"}, [](Bed& bed) { shunt::stack({bed.a, bed.b}); }},
      {"split: zero", {"split", "0", "2"}, [](Bed& bed) { bed.a.split(0); }},
      {"chunk: zero", {"chunk", "0"}, [](Bed& bed) { bed.a.chunk(0); }},
      {"contiguous: channels last of two dimensions",
       {"channels_last", "rank 4"},
       [](Bed& bed) { bed.a.contiguous(MemoryFormat::ChannelsLast); }},
  };
}

static std::vector<BadInput> reductionCases() {
  return {
      {"sum: dimension", {"sum", "[-2, 1]", "2"}, [](Bed& bed) { bed.a.sum(2); }},
      {"sum: repeated dimension", {"sum", "dim 0", "multiple times"}, [](Bed& bed) { bed.a.sum({0, -2}); }},
      {"mean: of longs", {"mean", "Long", "floating"}, [](Bed& bed) { bed.longs.mean(); }},
      {"amax: of nothing", {"amax", "dim"}, [](Bed& bed) { bed.empty.amax(); }},
      {"amax: of an empty dimension", {"amax", "dim 0", "non-zero size"}, [](Bed& bed) { bed.empty.amax({0}); }},
      {"argmax: of nothing", {"argmax", "dim"}, [](Bed& bed) { bed.empty.argmax(); }},
      {"argmax: of an empty dimension", {"argmax", "dim 0", "non-zero size"}, [](Bed& bed) { bed.empty.argmax(0); }},
      {"argmax: dimension", {"argmax", "[-2, 1]", "3"}, [](Bed& bed) { bed.a.argmax(3); }},
      {"argmax: of bools", {"argmax", "Bool"}, [](Bed& bed) { bed.bools.argmax(); }},
      {"max: of nothing", {"max", "numel() == 0"}, [](Bed& bed) { bed.empty.max(); }},
      {"all: dimension", {"all", "[-2, 1]", "2"}, [](Bed& bed) { bed.bools.all(2); }},
      {"softmax: dimension", {"softmax", "[-2, 1]", "2"}, [](Bed& bed) { bed.a.softmax(2); }},
      {"softmax: of longs", {"softmax", "Long"}, [](Bed& bed) { bed.longs.softmax(0); }},
      {"log_softmax: dimension", {"log_softmax", "[-2, 1]", "-3"}, [](Bed& bed) { bed.a.log_softmax(-3); }},
      {"sum_to_size: not smaller", {"sum_to_size", "[2, 4]", "[2, 3]"}, [](Bed& bed) { bed.a.sum_to_size({2, 4}); }},
      {"item: six elements", {"6 elements", "cannot be converted to Scalar"}, [](Bed& bed) { bed.a.item(); }},
      {"item: nothing", {"0 elements", "cannot be converted to Scalar"}, [](Bed& bed) { bed.empty.item(); }},
      {"item: meta", {"item", "meta"}, [](Bed&) { shunt::empty({}, TensorOptions(kMeta)).item(); }},
      {"item: out of range", {"Char", "overflow", "300"}, [](Bed& bed) { bed.scalar.add(300).item<int8_t>(); }},
      {"data_ptr: wrong type",
       {"expected scalar type Double", "found Float"},
       [](Bed& bed) { bed.a.data_ptr<double>(); }},
      {"data_ptr: meta", {"data pointer", "meta"}, [](Bed& bed) { bed.meta.data_ptr<float>(); }},
  };
}

std::vector<BadInput> shapeCases() {
  std::vector<BadInput> rows;
  for (auto* table : {&viewCases, &indexCases, &reductionCases})
    for (BadInput& row : table()) rows.push_back(std::move(row));
  return rows;
}

}  // namespace shunt::testing
