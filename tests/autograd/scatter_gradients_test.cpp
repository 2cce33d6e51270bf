// Gradients where an index covers a part of src or of self: the rest gets 0.
#include <shunt/autograd/gradcheck.h>

#include "tests/autograd/util.h"

#include <gtest/gtest.h>

namespace shunt::test {
namespace {

using Sizes = std::vector<int64_t>;
using autograd::variable_list;

/// Distinct values, of which `zeros` are 0.
Tensor valuesOfSize(const Sizes& sizes, double from, std::initializer_list<int64_t> zeros_at = {}) {
  int64_t n = 1;
  for (const int64_t s : sizes) n *= s;
  const Tensor x = empty({n}, TensorOptions(kDouble));
  for (int64_t i = 0; i < n; ++i) x.data_ptr<double>()[i] = from + 0.37 * static_cast<double>((i * 7) % 11);
  for (const int64_t i : zeros_at)
    if (i < n) x.data_ptr<double>()[i] = 0;
  return x.reshape(sizes);
}

/// Positions in [0, size), in turn.
Tensor indexOf(const Sizes& sizes, int64_t size) {
  int64_t n = 1;
  for (const int64_t s : sizes) n *= s;
  return arange(n, TensorOptions(kLong)).remainder(size).reshape(sizes);
}

struct ShapeCase {
  Sizes self, index, src;
  int64_t dim;
};
const std::vector<ShapeCase> kShapes = {{{2, 3}, {1, 1}, {2, 3}, 0},
                                        {{2, 3}, {1, 3}, {2, 3}, 0},
                                        {{2, 3}, {2, 2}, {2, 3}, 0},
                                        {{2, 3}, {2, 3}, {2, 3}, 0},
                                        {{2, 3}, {4, 2}, {5, 4}, 0},
                                        {{2, 3}, {2, 5}, {3, 6}, 1},
                                        {{3}, {2}, {4}, 0},
                                        {{3}, {0}, {4}, 0},
                                        {{2, 3}, {0, 3}, {2, 3}, 0},
                                        {{2, 3}, {0}, {2, 3}, 1},
                                        {{2, 2, 2}, {1, 3, 2}, {2, 3, 3}, 1},
                                        {{}, {}, {}, 0},
                                        {{}, {1}, {2}, 0},
                                        {{2}, {}, {3}, 0},
                                        {{2}, {1}, {}, 0}};

using Scatter = std::function<Tensor(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src)>;
struct OperatorCase {
  std::string name;
  Scatter f;
  bool repeats = true;  // positions may repeat
};

std::vector<OperatorCase> operators() {
  std::vector<OperatorCase> all = {
      {"scatter_add", [](auto& s, int64_t d, auto& i, auto& v) { return s.scatter_add(d, i, v); }},
      {"scatter", [](auto& s, int64_t d, auto& i, auto& v) { return s.scatter(d, i, v); }, false},
      {"scatter of a number", [](auto& s, int64_t d, auto& i, auto&) { return s.scatter(d, i, 2); }},
      {"gather", [](auto& s, int64_t d, auto& i, auto&) { return s.gather(d, i); }},
      {"scatter_", [](auto& s, int64_t d, auto& i, auto& v) { return s.clone().scatter_(d, i, v); }, false},
      {"scatter_add_", [](auto& s, int64_t d, auto& i, auto& v) { return s.clone().scatter_add_(d, i, v); }}};
  for (const char* how : {"sum", "prod", "mean", "amax", "amin"})
    for (const bool include_self : {true, false})
      all.push_back({detail::str(how, include_self ? "" : " without self"),
                     [how, include_self](auto& s, int64_t d, auto& i, auto& v) {
                       return s.scatter_reduce(d, i, v, how, include_self);
                     }});
  return all;
}

/// Nothing is written twice by replacement, or which value stays would decide.
Tensor indexFor(const OperatorCase& op, const ShapeCase& c) {
  const int64_t size = c.self.empty() ? 1 : c.self[static_cast<size_t>(c.dim)];
  if (op.repeats || c.index.empty()) return indexOf(c.index, size);
  const Sizes sizes = c.index;
  const int64_t along = sizes.size() == c.self.size() ? std::min(sizes[static_cast<size_t>(c.dim)], size) : 0;
  if (along == 0) return indexOf(sizes, size);
  Sizes fewer = sizes, flat(sizes.size(), 1);
  fewer[static_cast<size_t>(c.dim)] = along;
  flat[static_cast<size_t>(c.dim)] = along;
  return arange(along, TensorOptions(kLong)).reshape(flat).expand(fewer).contiguous();
}

TEST(ScatterGradients, OfPartsOfSrc) {
  for (const OperatorCase& op : operators())
    for (const ShapeCase& c : kShapes) {
      SCOPED_TRACE(detail::str(op.name, " self ", IntArrayRef(c.self), " index ", IntArrayRef(c.index), " src ",
                               IntArrayRef(c.src), " dim ", c.dim));
      const Tensor index = indexFor(op, c);
      const auto f = [&](const variable_list& x) { return variable_list{op.f(x[0], c.dim, index, x[1])}; };
      const variable_list inputs = {valuesOfSize(c.self, 0.4).requires_grad_(),
                                    valuesOfSize(c.src, 0.5).requires_grad_()};
      if (op.name == "gather" && index.numel() == 0) continue;  // no result to differentiate
      EXPECT_NO_THROW(autograd::gradcheck(f, inputs));
      EXPECT_NO_THROW(autograd::gradgradcheck(f, inputs));
    }
}

TEST(ScatterGradients, OfProductsWithZeros) {
  const Tensor index = tensor(std::vector<int64_t>{0, 0, 0, 1, 1}).to(kLong);
  for (const bool include_self : {true, false})
    for (const auto zeros_at : {std::initializer_list<int64_t>{0}, {0, 1}, {0, 1, 2}, {1, 2, 3}, {0, 3, 4}})
      for (const bool self_too : {false, true}) {
        const auto f = [&](const variable_list& x) {
          return variable_list{x[0].scatter_reduce(0, index, x[1], "prod", include_self)};
        };
        const variable_list inputs = {valuesOfSize({3}, 0.6, {self_too ? 0 : 9}).requires_grad_(),
                                      valuesOfSize({6}, 0.5, zeros_at).requires_grad_()};
        EXPECT_NO_THROW(autograd::gradcheck(f, inputs));
        EXPECT_NO_THROW(autograd::gradgradcheck(f, inputs));
      }
}

TEST(ScatterGradients, UncoveredElementsGetZero) {
  for (const OperatorCase& op : operators()) {
    if (op.name == "gather" || op.name == "scatter of a number") continue;
    Tensor self = full({2, 2}, 2, TensorOptions(kDouble)).requires_grad_(), src = valuesOfSize({2, 2}, 3);
    src.requires_grad_();
    op.f(self, 0, zeros({1, 1}, TensorOptions(kLong)), src).sum().backward();
    const Values g = values(src.grad());
    EXPECT_EQ(Values(g.begin() + 1, g.end()), (Values{0, 0, 0})) << op.name;
  }
}

TEST(ScatterGradients, InVmap) {
  for (const OperatorCase& op : operators()) {
    SCOPED_TRACE(op.name);
    const Tensor self = valuesOfSize({3, 2, 3}, 0.4), src = valuesOfSize({3, 3, 4}, 0.5);
    const Tensor index = arange(2, TensorOptions(kLong)).reshape({2, 1}).expand({2, 2}).contiguous();
    const auto gradients = grad([&](const variable_list& x) { return op.f(x[0], 0, index, x[1]).square().sum(); });
    const variable_list both = {self, src};
    const variable_list got = vmap([&](const variable_list& x) { return variable_list(gradients(x)); })(both);
    for (int64_t i = 0; i < 3; ++i) {
      Tensor a = self.select(0, i).clone().requires_grad_(), b = src.select(0, i).clone().requires_grad_();
      op.f(a, 0, index, b).square().sum().backward();
      EXPECT_EQ(values(got[0].select(0, i)), values(a.grad()));
      if (b.grad().defined()) EXPECT_EQ(values(got[1].select(0, i)), values(b.grad()));
    }
  }
}

}  // namespace
}  // namespace shunt::test
