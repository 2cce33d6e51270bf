// What an operator refuses of one sample vmap refuses, too, where the values of the whole batch would pass for good
// ones.
#include "tests/vmap/util.h"

namespace shunt::test {
namespace {

struct Refused {
  const char* name;
  Tensors in;  // all batched
  Function f;
};

Tensor floats(std::vector<int64_t> sizes) { return rand(sizes); }
Tensor zerosOf(std::vector<int64_t> sizes, ScalarType t) { return zeros(sizes, TensorOptions(t)); }

std::vector<Refused> losses() {
  const Tensor x = floats({3, 2, 4}), classes = zerosOf({3, 2}, kLong), row = floats({3, 4});
  const auto reduced = [](int64_t reduction) {
    return [=](const Tensors& t) { return Tensors{nll_loss(t[0], t[1], std::nullopt, reduction, -100)}; };
  };
  const auto gradient = [](int64_t reduction) {
    return [=](const Tensors& t) {
      return Tensors{ops::nll_loss_backward::call(t[2], t[0], t[1], std::nullopt, reduction, -100, t[3])};
    };
  };
  return {
      {"nll_loss, reduction", {x, classes}, reduced(3)},
      {"nll_loss of one row, reduction", {row, zerosOf({3}, kLong)}, reduced(-1)},
      {"nll_loss, targets of another shape", {x, zerosOf({3, 1, 2}, kLong)}, reduced(1)},
      {"nll_loss_backward, reduction", {x, classes, floats({3, 2}), floats({3})}, gradient(5)},
      {"nll_loss_backward, a gradient of another dtype", {x, classes, zerosOf({3}, kInt), floats({3})}, gradient(1)},
      {"nll_loss_backward of one row, a gradient of another dtype",
       {row, zerosOf({3}, kLong), zerosOf({3}, kInt), floats({3})},
       gradient(1)},
      {"nll_loss_backward, a total weight of another dtype",
       {x, classes, floats({3, 2}), zerosOf({3}, kDouble)},
       gradient(0)},
      {"nll_loss_backward, a mean's total weight of another dtype",
       {x, classes, floats({3}), zerosOf({3}, kDouble)},
       gradient(1)},
      {"nll_loss_backward of one row, a total weight of another dtype",
       {row, zerosOf({3}, kLong), floats({3}), zerosOf({3}, kDouble)},
       gradient(2)},
      {"nll_loss_backward of one row, whole numbers",
       {row.to(kLong), zerosOf({3}, kLong), zerosOf({3}, kLong), zerosOf({3}, kLong)},
       gradient(1)},
      {"nll_loss_backward, a gradient of another shape", {x, classes, floats({3, 1}), floats({3})}, gradient(0)},
      {"nll_loss_backward, two total weights", {x, classes, floats({3}), floats({3, 2})}, gradient(1)},
      {"nll_loss_backward of one row, reduction", {row, zerosOf({3}, kLong), floats({3}), floats({3})}, gradient(5)},
  };
}

std::vector<Refused> indices() {
  const Tensor x = floats({3, 4}), bytes = zerosOf({3, 2}, kByte), values = floats({3, 2});
  return {
      {"index_select, bytes", {x, bytes}, [](const Tensors& t) { return Tensors{t[0].index_select(0, t[1])}; }},
      {"index_add, bytes",
       {x, bytes, values},
       [](const Tensors& t) { return Tensors{t[0].index_add(0, t[1], t[2], 1)}; }},
      {"index_put, a value of more dimensions",
       {x},
       [](const Tensors& t) { return Tensors{ops::index_put::call(t[0], {tensor({0, 1})}, ones({1, 2}), false)}; }},
      {"masked_fill, bytes that are no mask",
       {x, zerosOf({3, 4}, kByte) + 2, floats({3})},
       [](const Tensors& t) { return Tensors{t[0].masked_fill(t[1], t[2])}; }},
  };
}

std::vector<Refused> layouts() {
  const auto in = [](MemoryFormat format) { return [=](const Tensors& t) { return Tensors{t[0].clone(format)}; }; };
  return {
      {"clone, channels_last of three dimensions", {floats({3, 2, 2, 2})}, in(MemoryFormat::ChannelsLast)},
      {"clone, channels_last of two dimensions", {floats({3, 2, 2})}, in(MemoryFormat::ChannelsLast)},
      {"zeros_like, channels_last_3d of four dimensions",
       {floats({3, 2, 2, 2, 2})},
       [](const Tensors& t) {
         return Tensors{ops::zeros_like::call(t[0], {}, {}, {}, {}, MemoryFormat::ChannelsLast3d)};
       }},
  };
}

/// Of samples whose first element starts where no element of the other dtype does, though the batch's first one does.
std::vector<Refused> dtypes() {
  const auto as = [](ScalarType t) {
    return [=](const Tensors& in) { return Tensors{ops::view_dtype::call(in[0], t)}; };
  };
  const Tensor x = floats({3, 2, 9});
  return {
      {"view, samples at odd distances", {x.select(1, 0).as_strided({3, 8}, {9, 1})}, as(kDouble)},
      {"view, rows at odd distances", {x.slice(2, 0, 8)}, as(kDouble)},
      {"view, an odd place", {floats({3, 10}).slice(1, 1, 9)}, as(kDouble)},
      {"view, an odd number of elements", {floats({3, 7})}, as(kDouble)},
      {"view, strided elements", {floats({3, 8}).slice(1, 0, 8, 2)}, as(kHalf)},
      {"view, no dimension", {floats({4})}, as(kDouble)},
  };
}

std::vector<Refused> networks() {
  const Tensor x = floats({3, 1, 2, 4, 4}), w = floats({3, 5, 2, 3, 3});
  const auto conv = [](const Tensors& t) {
    return Tensors{conv2d(t[0], t.size() > 2 ? t[1] : ones({5, 2, 3, 3}), t.back())};
  };
  return {
      {"conv2d, a bias of each sample of another dtype", {x, zerosOf({3, 5}, kInt)}, conv},
      {"conv2d, a bias of each sample of one element", {x, floats({3, 1})}, conv},
      {"conv2d, a bias and weights of each sample, of another dtype", {x, w, zerosOf({3, 5}, kInt)}, conv},
      {"lerp, weights of another dtype",
       {floats({3, 2}), floats({3, 2}), zerosOf({3}, kDouble)},
       [](const Tensors& t) { return Tensors{ops::lerp_Tensor::call(t[0], t[1], t[2])}; }},
  };
}

/// Without what it says of the operators that were running.
std::string textOf(const std::string& error) { return error.substr(0, error.find(" (in aten::")); }

TEST(VmapRefusals, AreThoseOfOneSample) {
  for (auto* cases : {losses, indices, layouts, dtypes, networks})
    for (const Refused& r : cases()) {
      const std::vector<std::optional<int64_t>> dims(r.in.size(), 0);
      const std::string expected = errorOf([&] { loop(r.f, r.in, dims); });
      EXPECT_NE(expected, "no error") << r.name;
      EXPECT_EQ(textOf(errorOf([&] { vmapped(r.f, r.in, dims); })), textOf(expected)) << r.name;
    }
}

TEST(VmapRefusals, AMaskOfBytesIsTakenWhereItIsOne) {
  const Tensor mask = tensor({{1, 0, 1}, {0, 0, 1}}).to(kByte), x = floats({2, 3}), value = floats({2});
  const Function f = [](const Tensors& t) { return Tensors{t[0].masked_fill(t[1], t[2])}; };
  EXPECT_TRUE(sameValues(vmapped(f, {x, mask, value}, {0, 0, 0})[0], loop(f, {x, mask, value}, {0, 0, 0})[0]));
}

TEST(VmapRefusals, CatOfNothingTakesAnyDimension) {
  const Function f = [](const Tensors& t) { return Tensors{cat({t[0], t[0]}, 4)}; };
  const Tensor none = zeros({3, 0});
  EXPECT_EQ(errorOf([&] { loop(f, {none}, {0}); }), errorOf([&] { vmapped(f, {none}, {0}); }));
}

}  // namespace
}  // namespace shunt::test
