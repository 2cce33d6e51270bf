// Writes inside vmap: views of a batched tensor count its changes as views of any tensor do, so that gradients which
// need what was overwritten throw; and in-place operators are differentiated as they are for one sample.
#include "tests/vmap/util.h"

namespace shunt::test {
namespace {

constexpr const char* kModified = "modified by an inplace operation";

/// Functions of a tensor to differentiate and of a constant, of which they change what the product needs.
using Overwriting = std::function<Tensor(const Tensor& x, Tensor c)>;
const std::vector<std::pair<const char*, Overwriting>>& overwriting() {
  static const std::vector<std::pair<const char*, Overwriting>> all = {
      {"what the view shows",
       [](const Tensor& x, Tensor c) {
         const Tensor y = (x * c.unsqueeze(0)).sum();
         c.mul_(10);
         return y;
       }},
      {"through a view",
       [](const Tensor& x, Tensor c) {
         const Tensor y = (x * c).sum();
         c.view({-1}).mul_(10);
         return y;
       }},
      {"through a view of a view, seen in another one",
       [](const Tensor& x, Tensor c) {
         const Tensor y = (x * c.unsqueeze(0).transpose(0, 1).squeeze(1)).sum();
         c.detach().slice(0, 0, 1).zero_();
         return y;
       }},
      {"through one of several views",
       [](const Tensor& x, Tensor c) {
         const Tensor y = (x * c).sum();
         c.unbind(0)[1].fill_(3);
         return y;
       }},
  };
  return all;
}

TEST(VmapWrites, ViewsCountTheChangesOfTheirBase) {
  for (const auto& [name, f] : overwriting()) {
    const auto of = [&f = f](const Tensor& x, const Tensor& c) { return f(x, c.clone()); };
    const Tensor x = ones({2, 3}), c = full({2, 3}, 2.f);
    EXPECT_THAT(errorOf([&] { grad(of)(x[0], c[0]); }), testing::HasSubstr(kModified)) << name;
    EXPECT_THAT(errorOf([&] { vmap(grad(of))(x, c); }), testing::HasSubstr(kModified)) << name;
    const auto twice = [&](const Tensor& a, const Tensor& b) { return vmap(grad(of))(a, b); };
    EXPECT_THAT(errorOf([&] { vmap(twice)(x.unsqueeze(1), c.unsqueeze(1)); }), testing::HasSubstr(kModified)) << name;
  }
}

TEST(VmapWrites, WhatAnInnerGradTakesAsConstantCountsItsChanges) {
  for (const auto& [name, f] : overwriting()) {
    if (std::string_view(name).find("several") != std::string_view::npos) continue;  // refused: they have a graph
    const auto of_grad = [&f = f](const Tensor& x, const Tensor& c) {
      return grad([&](const Tensor& t) { return grad(f)(x, c * t).sum(); })(c.sum());
    };
    const Tensor x = ones({2, 3}), c = full({2, 3}, 2.f);
    EXPECT_THAT(errorOf([&] { of_grad(x[0], c[0]); }), testing::HasSubstr(kModified)) << name;
    EXPECT_THAT(errorOf([&] { vmap(of_grad)(x, c); }), testing::HasSubstr(kModified)) << name;
  }
}

TEST(VmapWrites, OtherTensorsCountTheirOwnChanges) {
  const auto f = [](const Tensor& x, const Tensor& constant) {
    Tensor c = constant.clone();
    const Tensor copy = c * 1, view = c.unsqueeze(0);
    const Tensor y = (x * copy).sum();
    c.mul_(10);
    copy.unsqueeze(0);
    EXPECT_EQ(c._version(), 1);
    EXPECT_EQ(view._version(), 1);
    EXPECT_EQ(copy._version(), 0);
    EXPECT_EQ(c.slice(0, 0, 1)._version(), 1) << "a view made later counts on";
    c.slice(0, 0, 1).zero_();
    EXPECT_EQ(view._version(), 2);
    return y + (x * view).sum();
  };
  const Tensor got = vmap(grad(f))(ones({2, 3}), full({2, 3}, 2.f));
  EXPECT_TRUE(sameBits(got[1], tensor({2.f, 22.f, 22.f}))) << got;
}

}  // namespace
}  // namespace shunt::test
