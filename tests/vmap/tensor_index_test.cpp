// x[i] and x.index({...}) where an integer without dimensions is another one in each sample: vmap equals the loop, in
// which it is a number.
#include "tests/vmap/util.h"

namespace shunt::test {
namespace {

using indexing::Ellipsis;
using indexing::None;
using indexing::Slice;
using indexing::TensorIndex;
using Indices = std::vector<TensorIndex>;

struct Indexed {
  const char* name;
  std::function<Indices(const Tensor& i, const Tensor& j)> indices;
};

const std::vector<Indexed>& all() {
  static const Tensor places = tensor({2, 0, 1, 1, 0}), rows = tensor({{0, 1}, {1, 1}});
  static const Tensor mask = tensor({1, 0, 1}).to(kBool);
  static const std::vector<Indexed> cases = {
      {"one", [](const Tensor& i, const Tensor&) { return Indices{i}; }},
      {"another dimension", [](const Tensor& i, const Tensor&) { return Indices{Slice(), i}; }},
      {"the last", [](const Tensor& i, const Tensor&) { return Indices{Ellipsis, i}; }},
      {"two", [](const Tensor& i, const Tensor& j) { return Indices{i, j}; }},
      {"two apart", [](const Tensor& i, const Tensor& j) { return Indices{i, Slice(), j}; }},
      {"with numbers, slices and new dimensions",
       [](const Tensor& i, const Tensor&) { return Indices{None, 1, Slice(1, None), None, i}; }},
      {"before tensors", [](const Tensor& i, const Tensor&) { return Indices{i, Slice(), places}; }},
      {"between", [](const Tensor& i, const Tensor& j) { return Indices{rows[1], i, j, rows}; }},
      {"behind tensors", [](const Tensor& i, const Tensor&) { return Indices{Slice(), places, Slice(), i}; }},
      {"with tensors apart", [](const Tensor& i, const Tensor&) { return Indices{rows, i, Slice(), rows}; }},
      {"with a mask", [](const Tensor& i, const Tensor&) { return Indices{i, Slice(), mask}; }},
      {"with a bool", [](const Tensor& i, const Tensor&) { return Indices{Slice(), i, true}; }},
      {"other dtypes", [](const Tensor& i, const Tensor& j) { return Indices{i.to(kInt), j.to(kShort)}; }},
      {"computed", [](const Tensor& i, const Tensor& j) { return Indices{-i - 1, (j + i).clamp_max(1)}; }},
  };
  return cases;
}

class VmapIndexing : public testing::Test {
 protected:
  const Tensor x_ = arange(216).view({3, 2, 3, 3, 4}).to(kDouble);
  const Tensor i_ = tensor({1, 0, 1}), j_ = tensor({0, 1, 1});
};

TEST_F(VmapIndexing, IntegersOfSamplesChoose) {
  for (const Indexed& c : all()) {
    const Function f = [&](const Tensors& t) { return Tensors{t[0].index(c.indices(t[1], t[2]))}; };
    const std::vector<std::optional<int64_t>> each = {0, 0, 0}, same = {std::nullopt, 0, 0};
    EXPECT_TRUE(sameValues(vmapped(f, {x_, i_, j_}, each)[0], loop(f, {x_, i_, j_}, each)[0])) << c.name;
    EXPECT_TRUE(sameValues(vmapped(f, {x_[0], i_, j_}, same)[0], loop(f, {x_[0], i_, j_}, same)[0])) << c.name;
    const auto nested = [&](const Tensor& i, const Tensor& j) {
      return vmap([&](const Tensor& x) { return f({x, i, j})[0]; })(x_);
    };
    const auto expected = [&](int64_t s) { return vmap([&](const Tensor& x) { return f({x, i_[s], j_[s]})[0]; })(x_); };
    EXPECT_TRUE(sameValues(vmap(nested)(i_, j_), stack({expected(0), expected(1), expected(2)}))) << c.name;
  }
}

TEST_F(VmapIndexing, WhatTheyChooseIsDifferentiated) {
  for (const Indexed& c : all()) {
    const Function f = [&](const Tensors& t) {
      return Tensors{
          grad([&](const Tensor& x) { return x.index(c.indices(t[1], t[2])).square().sum() + x[t[1]].sum(); })(t[0])};
    };
    EXPECT_TRUE(sameValues(vmapped(f, {x_, i_, j_}, {0, 0, 0})[0], loop(f, {x_, i_, j_}, {0, 0, 0})[0])) << c.name;
  }
}

TEST_F(VmapIndexing, WhatTheyChooseIsAssigned) {
  for (const Indexed& c : all()) {
    const Function f = [&](const Tensors& t) {
      const Indices indices = c.indices(t[1], t[2]);
      Tensor y = t[0].clone(), z = t[0].clone();
      y.index_put_(indices, -t[0].index(indices));
      z.index_put_(indices, 7);
      return Tensors{y, z};
    };
    const Tensors got = vmapped(f, {x_, i_, j_}, {0, 0, 0}), expected = loop(f, {x_, i_, j_}, {0, 0, 0});
    EXPECT_TRUE(sameValues(got[0], expected[0])) << c.name;
    EXPECT_TRUE(sameValues(got[1], expected[1])) << c.name;
  }
}

TEST_F(VmapIndexing, Brackets) {
  const Function f = [](const Tensors& t) { return Tensors{t[0][t[1]][t[2]]}; };
  EXPECT_TRUE(sameValues(vmapped(f, {x_, i_, j_}, {0, 0, 0})[0], loop(f, {x_, i_, j_}, {0, 0, 0})[0]));
  const auto refused = [&](const Tensor& i) {
    return errorOf([&] { vmap([&](const Tensor& t) { return x_[t]; })(i); });
  };
  EXPECT_THAT(refused(i_ + 9), testing::HasSubstr("out of bounds"));
  EXPECT_NE(refused(i_.to(kDouble)), "no error");
  EXPECT_NE(refused(i_.to(kBool)), "no error");
  EXPECT_THAT(errorOf([&] {
                const Tensor mask = x_[0][0][0].gt(3);
                vmap([&](const Tensor& i) { return x_[0].index({i, Ellipsis, mask}); })(i_);
              }),
              testing::HasSubstr("can't index at once"));
}

// Where no vmap has it, an integer is a number, and what it chooses is a view.
TEST_F(VmapIndexing, IntegersOfAGradChooseViews) {
  const auto f = [&](const Tensor& x) {
    const Tensor i = x.argmax(), y = x * 1;
    y.index({i}).mul_(3);
    y[i].mul_(2);
    return y.sum();
  };
  EXPECT_TRUE(sameValues(grad(f)(tensor({1.0, 4.0, 2.0})), tensor({1.0, 6.0, 1.0})));
}

TEST_F(VmapIndexing, WhatAnIntegerOfASamplePickedIsNotWritten) {
  using Write = std::function<void(const Tensor& x, const Tensor& i)>;
  const Write lost[] = {
      [](const Tensor& x, const Tensor& i) { x[i].add_(1); },
      [](const Tensor& x, const Tensor& i) { x.index({Slice(), i}).zero_(); },
      [](const Tensor& x, const Tensor& i) { x[i][0].fill_(2); },
      [](const Tensor& x, const Tensor& i) { x[i].copy_(x[0]); },
      [](const Tensor& x, const Tensor& i) { x[i].view({-1}).narrow(0, 0, 1).cumsum_(0); },
  };
  for (const Write& write : lost) {
    const auto f = [&](const Tensor& x, const Tensor& i) {
      const Tensor own = x.clone();
      write(own, i);
      return own.sum();
    };
    EXPECT_THAT(errorOf([&] { vmap(f)(x_, i_); }), testing::HasSubstr("x.index_put_({i}, value)"));
    EXPECT_THAT(errorOf([&] { vmap(grad(f))(x_, i_); }), testing::HasSubstr("x.index_put_({i}, value)"));
  }
  const auto kept = [](const Tensor& x, const Tensor& i) {
    return x[i].clone().add_(x.index({i, tensor({0, 1})}).mul_(2));
  };
  EXPECT_EQ(vmap(kept)(x_.narrow(2, 0, 2), i_).sizes(), IntArrayRef({3, 2, 3, 4}));
}

}  // namespace
}  // namespace shunt::test
