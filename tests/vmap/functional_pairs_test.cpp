// vmap and grad in pairs with functionalization, in both orders, and with captured tensor subclasses. The oracle is the
// program without the other transform.
#include "tests/support/wrapper.h"
#include "tests/vmap/util.h"

#include <shunt/transforms/functionalize.h>

#include <utility>

namespace shunt::test {
namespace {

using test::Wrapper;

Tensor numbers(IntArrayRef sizes) {
  int64_t n = 1;
  for (const int64_t s : sizes) n *= s;
  return arange(n).to(kFloat).add(1).div(7).view(sizes);
}

using Named = std::pair<const char*, std::function<Tensor(const Tensor&)>>;

// ---- functionalization and subclasses further out -----------------------------------------------------------------
TEST(FunctionalPairs, FunctionalizeAroundWhatMeetsOtherTensors) {
  const Tensor x = numbers({2, 2}), w = numbers({2, 2}).exp(), p = numbers({2, 2}).requires_grad_();
  const std::vector<Named> all = {
      {"captured", [&](const Tensor& t) { return grad([&](const Tensor& u) { return (u * w).sum(); })(t); }},
      {"captured parameter", [&](const Tensor& t) { return grad([&](const Tensor& u) { return (u * p).sum(); })(t); }},
      {"captured argument", [&](const Tensor& t) { return grad([&](const Tensor& u) { return (u * t).sum(); })(t); }},
      {"not differentiated",
       [](const Tensor& t) { return grad([](const Tensor& u, const Tensor& v) { return (u * v).sum(); })(t, t * 2); }},
      {"factory", [](const Tensor& t) { return grad([](const Tensor& u) { return (u * ones({2, 2})).sum(); })(t); }},
      {"written factory",
       [](const Tensor& t) {
         return grad([](const Tensor& u) {
           Tensor y = zeros({2, 2});
           y[0].add_(u[1]);
           return (y * u).sum();
         })(t);
       }},
      {"hessian", [](const Tensor& t) { return hessian([](const Tensor& u) { return (u * u * u).sum(); })(t); }},
      {"grad of jacrev",
       [](const Tensor& t) {
         return grad([](const Tensor& u) { return jacrev([](const Tensor& v) { return v.sin(); })(u).sum(); })(t);
       }},
      {"index_select",
       [](const Tensor& t) {
         return grad([](const Tensor& u) { return u.index_select(0, tensor({1, 1})).sum(); })(t);
       }},
      {"a written gradient",
       [](const Tensor& t) {
         Tensor g = grad([](const Tensor& u) { return (u * u).sum(); })(t);
         g[0].mul_(t[1]);
         return g;
       }},
      {"vmap, unbatched",
       [](const Tensor& t) {
         return vmap([](const Tensor& u, const Tensor& v) { return u * v[0]; }, {.in_dims = {0, std::nullopt}})(t, t);
       }},
      {"vmap, factory", [](const Tensor& t) { return vmap([](const Tensor& u) { return u * ones({2}); })(t); }},
      {"vmap of grad",
       [](const Tensor& t) {
         return vmap(grad([](const Tensor& u) {
           Tensor y = u * ones({2});
           y.slice(0, 0, 1).mul_(u[1]);
           return (y * u).sum();
         }))(t);
       }},
  };
  for (const auto& [name, f] : all) {
    SCOPED_TRACE(name);
    const Tensor expected = f(x);
    EXPECT_TRUE(sameValues(functionalize(f)(x), expected));
    const FunctionalizeGuard guard;
    const Tensor result = f(to_functional(x));
    EXPECT_TRUE(is_functional(result));
    EXPECT_TRUE(sameValues(is_functional(result) ? from_functional(result) : result, expected));
  }
}

TEST(FunctionalPairs, FunctionalizeAroundWritesToItsArgument) {
  Tensor x = numbers({2, 2}), y = x.clone();
  const auto f = [](const Tensor& t) {
    Tensor u = t;
    u[0].mul_(2);
    return grad([&](const Tensor& v) { return (v * u).sum(); })(t) + u;
  };
  EXPECT_TRUE(sameValues(functionalize(f)(x), f(y)));
  EXPECT_TRUE(sameValues(x, y));
}

TEST(FunctionalPairs, CapturedSubclassesAreConstants) {
  const Tensor x = numbers({2, 2}), w = numbers({2, 2}).exp(), row = numbers({2});
  const Tensor wrapped = wrap<Wrapper>(w), wrapped_row = wrap<Wrapper>(row);
  const auto product = [](const Tensor& a, const Tensor& b) { return (a * b).softmax(-1).square().sum(); };
  const auto by = [&](const Tensor& b) { return [&](const Tensor& a) { return product(a, b); }; };
  Wrapper::calls = 0;
  EXPECT_TRUE(sameValues(unwrap<Wrapper>(grad(by(wrapped))(x)), grad(by(w))(x)));
  EXPECT_GT(Wrapper::calls, 0);
  EXPECT_TRUE(sameValues(unwrap<Wrapper>(grad(product)(x, wrapped)), grad(product)(x, w)));
  EXPECT_TRUE(sameValues(unwrap<Wrapper>(hessian(by(wrapped))(x)), hessian(by(w))(x)));
  EXPECT_TRUE(sameValues(unwrap<Wrapper>(vmap(by(wrapped_row))(x)), vmap(by(row))(x)));
  const VmapOptions unbatched{.in_dims = {0, std::nullopt}};
  EXPECT_TRUE(sameValues(unwrap<Wrapper>(vmap(product, unbatched)(x, wrapped_row)), vmap(product, unbatched)(x, row)));
  EXPECT_TRUE(sameValues(unwrap<Wrapper>(vmap(grad(product), unbatched)(x, wrapped_row)),
                         vmap(grad(product), unbatched)(x, row)));
}

TEST(FunctionalPairs, AWrapperThatTheFunctionMadeAroundItsTensorsIsNoResult) {
  const Tensor x = numbers({2});
  const auto wrapping = [](const Tensor& t) { return (wrap<Wrapper>(t) * 2).sum(); };
  const auto functional = [](const Tensor& t) { return to_functional(t).mul(2).sum(); };
  EXPECT_NE(errorOf([&] { grad(wrapping)(x); }).find("is a TensorSubclass around a tensor of the function"),
            std::string::npos);
  EXPECT_NE(errorOf([&] { grad(functional)(x); }).find("is a functional tensor around a tensor of the function"),
            std::string::npos);
  EXPECT_NE(errorOf([&] { vmap(wrapping)(numbers({2, 2})); }).find("is a TensorSubclass around a batched tensor"),
            std::string::npos);
  EXPECT_NE(errorOf([&] { vmap(functional)(numbers({2, 2})); }).find("is a functional tensor around a batched tensor"),
            std::string::npos);
  EXPECT_TRUE(sameValues(grad([&](const Tensor& t) { return unwrap<Wrapper>(wrapping(t)); })(x), full({2}, 2.f)));
  EXPECT_TRUE(sameValues(grad([&](const Tensor& t) { return from_functional(functional(t)); })(x), full({2}, 2.f)));
}

// ---- functionalize inside -----------------------------------------------------------------------------------------
/// Functions of a 2 x 2 tensor that write; autograd can differentiate them.
const std::vector<Named>& writing() {
  static const std::vector<Named> all = {
      {"view select",
       [](const Tensor& x) {
         Tensor y = x * 1;
         y.view({2, 2, 1}).select(1, 0).mul_(3);
         return y * y;
       }},
      {"transpose_",
       [](const Tensor& x) {
         Tensor y = x * 2;
         y.transpose_(0, 1);
         y[0].add_(x[1]);
         return y * x;
       }},
      {"diagonal",
       [](const Tensor& x) {
         Tensor y = x.sin();
         y.diagonal().fill_(2);
         return y * x;
       }},
      {"a view seen",
       [](const Tensor& x) {
         Tensor y = x * 1;
         Tensor v = y.slice(1, 0, 1);
         y.add_(x);
         return v * y;
       }},
      {"expanded",
       [](const Tensor& x) {
         Tensor y = x[0] * 1;
         Tensor e = y.expand({2, 2});
         y.mul_(3);
         return e * x;
       }},
      {"reshape",
       [](const Tensor& x) {
         Tensor y = x * 1;
         y.reshape({4}).mul_(x.reshape({4}));
         return y * y;
       }},
      {"contiguous",
       [](const Tensor& x) {
         Tensor y = x * 1;
         Tensor v = y.contiguous();
         v.mul_(2);
         return y * x;
       }},
      {"zeros_like",
       [](const Tensor& x) {
         Tensor y = zeros_like(x);
         y[0].add_(x[1]);
         return y * x;
       }},
      {"zero_",
       [](const Tensor& x) {
         Tensor y = x * 1;
         y[0].zero_();
         return y * x;
       }},
      {"without grad mode",
       [](const Tensor& x) {
         Tensor y = x * 1;
         {
           const NoGradGuard off;
           y[0].mul_(2);
         }
         return y * y;
       }},
      {"detached",
       [](const Tensor& x) {
         Tensor y = x * 1;
         y.detach()[0].mul_(2);
         return y * x;
       }},
      {"index_put_",
       [](const Tensor& x) {
         Tensor y = x * 1;
         y.t().index_put_({tensor({0})}, x[0]);
         return y * x;
       }},
  };
  return all;
}

TEST(FunctionalPairs, FunctionalizeInsideSeesWritesThroughViews) {
  const Tensor batch = numbers({2, 2, 2}), x = batch[1];
  for (const auto& [name, f] : writing()) {
    SCOPED_TRACE(name);
    const auto plain = [&f = f](const Tensor& t) { return f(t).sum(); };
    const auto functional = [&f = f](const Tensor& t) { return functionalize(f)(t).sum(); };
    EXPECT_TRUE(sameValues(grad(functional)(x), grad(plain)(x)));
    EXPECT_TRUE(sameValues(vmap(grad(functional))(batch), vmap(grad(plain))(batch)));
    EXPECT_TRUE(sameValues(hessian(functional)(x), hessian(plain)(x)));
    const auto whole = [](const auto& g) { return [&](const Tensor& t) { return vmap(g)(t).sum(); }; };
    EXPECT_TRUE(sameValues(grad(whole(functional))(batch), grad(whole(plain))(batch)));
    // The other order.
    EXPECT_TRUE(sameValues(functionalize(grad(plain))(x), grad(plain)(x)));
    EXPECT_TRUE(sameValues(functionalize(hessian(plain))(x), hessian(plain)(x)));
    EXPECT_TRUE(sameValues(functionalize(vmap(grad(plain)))(batch), vmap(grad(plain))(batch)));
    for (int64_t dim = 0; dim < 3; ++dim) {
      const auto gradient = [&](const auto& g) {
        const Tensor leaf = batch.clone().requires_grad_();
        const Tensor y = vmap(g, {.in_dims = {dim}})(leaf * 1);
        (y * y).sum().backward();
        return std::pair(y.detach(), leaf.grad());
      };
      const auto expected = gradient(f), got = gradient([&f = f](const Tensor& t) { return functionalize(f)(t); });
      EXPECT_TRUE(sameValues(got.first, expected.first)) << dim;
      EXPECT_TRUE(sameValues(got.second, expected.second)) << dim;
    }
  }
}

TEST(FunctionalPairs, FunctionalizeInsideVmapWritesToArguments) {
  const Tensor x = numbers({3, 2, 2}), y = x.clone();
  const auto f = [](const Tensor& t) {
    Tensor u = t;
    u.t()[0].mul_(u.t()[1]);
    return u + 0;
  };
  const auto functional = [&](const Tensor& t) { return functionalize(f)(t); };
  EXPECT_TRUE(sameValues(vmap(functional, {.in_dims = {2}})(x), vmap(f, {.in_dims = {2}})(y)));
  EXPECT_TRUE(sameValues(x, y));
}

TEST(FunctionalPairs, BatchesInOneMemoryAreRivals) {
  Tensor x = numbers({2, 2});
  const auto f = [](const Tensor& a, const Tensor& b) {
    Tensor u = a;
    u.mul_(2);
    return u + b;
  };
  const auto functional = [&](const Tensor& a, const Tensor& b) { return functionalize(f)(a, b); };
  EXPECT_NE(errorOf([&] { vmap(functional, {.in_dims = {0, 1}})(x, x); }).find("another batch of vmap"),
            std::string::npos);
}

// ---- as_strided_scatter of batches that don't lie in front --------------------------------------------------------
TEST(FunctionalPairs, AsStridedScatterCountsFromTheStartOfAllSamples) {
  const Tensor base = numbers({2, 3, 2});
  for (int64_t dim = 0; dim < 3; ++dim) {
    const Tensor x = dim == 0 ? base.slice(0, 1, 2) : base;
    const auto f = [](const Tensor& t) {
      const Tensor row = t.select(0, 1);
      return as_strided_scatter(t, row * 10, row.sizes(), row.strides(), row.storage_offset());
    };
    const auto expected = [](const Tensor& t) { return select_scatter(t, t.select(0, 1) * 10, 0, 1); };
    EXPECT_TRUE(sameValues(vmap(f, {.in_dims = {dim}})(x), vmap(expected, {.in_dims = {dim}})(x))) << dim;
  }
}

}  // namespace
}  // namespace shunt::test
