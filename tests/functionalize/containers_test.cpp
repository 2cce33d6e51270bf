// Tensors inside of arguments and results of functionalized functions.
#include "tests/functionalize/util.h"

#include <array>

namespace shunt::test {
namespace {

TEST(FunctionalizeContainers, ResultsArePlain) {
  const Tensor x = iota({2, 2});
  const auto [sum, view] = functionalize([](const Tensor& t) { return std::make_pair(t + 1, t.t()); })(x);
  EXPECT_FALSE(is_functional(sum));
  EXPECT_TRUE(identical(sum, iota({2, 2}).add(1)));
  EXPECT_TRUE(view.is_alias_of(x));
  const std::optional<Tensor> maybe = functionalize([](const Tensor& t) { return std::optional<Tensor>(t); })(x);
  EXPECT_TRUE(maybe->is_same(x));
  EXPECT_FALSE(functionalize([](const Tensor&) { return std::optional<Tensor>(); })(x).has_value());
  const auto nested = functionalize([](const Tensor& t) {
    return std::tuple(7, std::vector<std::optional<Tensor>>{t.mul(2), std::nullopt},
                      std::array<std::pair<Tensor, int>, 1>{{{t.neg(), 1}}});
  })(x);
  EXPECT_EQ(std::get<0>(nested), 7);
  EXPECT_FALSE(is_functional(*std::get<1>(nested)[0]));
  EXPECT_FALSE(std::get<1>(nested)[1].has_value());
  EXPECT_TRUE(identical(std::get<2>(nested)[0].first, iota({2, 2}).neg()));
  EXPECT_EQ(*functionalize([](const Tensor&) { return std::make_unique<int>(5); })(x), 5);
}

/// `program` adds 1 to every tensor of its argument, which are those of `tensors`.
template <class F, class T>
void expectWrittenAtTheEnd(F program, T&& argument, const std::vector<Tensor>& tensors) {
  functionalize([&](auto&& in) {
    program(in);
    for (const Tensor& t : tensors) EXPECT_TRUE(identical(t, zeros({2}))) << "written before the end";
  })(std::forward<T>(argument));
  for (const Tensor& t : tensors) EXPECT_TRUE(identical(t, ones({2})));
}

TEST(FunctionalizeContainers, ArgumentsAreWrapped) {
  const auto two = [] { return std::vector<Tensor>{zeros({2}), zeros({2})}; };
  const auto each = [](const auto& in) {
    for (const Tensor& t : in) t.add_(1);
  };
  std::vector<Tensor> t = two();
  expectWrittenAtTheEnd(each, TensorList(t), t);
  t = two();
  expectWrittenAtTheEnd(each, t, t);
  t = two();
  expectWrittenAtTheEnd(each, std::array<Tensor, 2>{t[0], t[1]}, t);
  t = two();
  expectWrittenAtTheEnd([](const auto& in) { in.first.add_(1), in.second->add_(1); },
                        std::pair(t[0], std::optional<Tensor>(t[1])), t);
  t = two();
  expectWrittenAtTheEnd([](const auto& in) { std::get<1>(in).add_(1), std::get<2>(in)[0].add_(1); },
                        std::tuple(3, t[0], std::vector<Tensor>{t[1]}), t);
}

TEST(FunctionalizeContainers, AFunctionOfATensorList) {
  const std::vector<Tensor> in{iota({3}), iota({3})};
  const Tensor sum = functionalize([](TensorList list) {
    list[0].add_(list[1]);
    return list[0].sum();
  })(TensorList(in));
  EXPECT_TRUE(identical(in[0], iota({3}).mul(2)));
  EXPECT_EQ(sum.item<float>(), 6);
}

}  // namespace
}  // namespace shunt::test
