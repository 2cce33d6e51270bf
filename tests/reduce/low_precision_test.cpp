// Sums by index of 16-bit elements, and the gradients that are such sums: each element is rounded once.
#include "tests/shape/util.h"

#include <shunt/autograd/autograd.h>

namespace shunt::testing {
namespace {

/// A sum of n ones in the type, as its only or its first element.
struct SumCase {
  const char* name;
  std::function<Tensor(int64_t n, const TensorOptions&)> f;
};

Tensor nowhere(int64_t n) { return zeros({n}, TensorOptions(kLong)); }
std::vector<std::optional<Tensor>> list(const Tensor& index) { return {index}; }

template <class F>
Tensor gradientOf(Tensor x, const F& f) {
  x.requires_grad_();
  f(x).sum().backward();
  return x.grad();
}

const std::vector<SumCase> kSums = {
    {"index_add", [](int64_t n, const auto& o) { return zeros({1}, o).index_add(0, nowhere(n), ones({n}, o)); }},
    {"index_add of rows",
     [](int64_t n, const auto& o) { return zeros({2, 3}, o).index_add(0, nowhere(n), ones({n, 3}, o)); }},
    {"index_add of columns",
     [](int64_t n, const auto& o) { return zeros({3, 2}, o).index_add(1, nowhere(n), ones({3, n}, o)); }},
    {"index_add with alpha",
     [](int64_t n, const auto& o) { return zeros({1}, o).index_add(0, nowhere(n), full({n}, 2, o), 0.5); }},
    {"index_add_ to a strided tensor",
     [](int64_t n, const auto& o) {
       const Tensor x = zeros({2, 2}, o);
       x.select(1, 0).index_add_(0, nowhere(n), ones({n}, o));
       return x;
     }},
    {"index_add of two places in turn",
     [](int64_t n, const auto& o) {
       return zeros({2}, o).index_add(0, iota({2 * n}, kLong).remainder(2), ones({2 * n}, o));
     }},
    {"scatter_add", [](int64_t n, const auto& o) { return zeros({1}, o).scatter_add(0, nowhere(n), ones({n}, o)); }},
    {"scatter_add to few of many",
     [](int64_t n, const auto& o) { return zeros({100 * n}, o).scatter_add(0, nowhere(n), ones({n}, o)); }},
    {"scatter_add along columns",
     [](int64_t n, const auto& o) {
       return zeros({2, 2}, o).scatter_add(0, zeros({n, 2}, TensorOptions(kLong)), ones({n, 2}, o));
     }},
    {"scatter, add",
     [](int64_t n, const auto& o) { return zeros({1}, o).scatter(0, nowhere(n), ones({n}, o), "add"); }},
    {"scatter of a number, add",
     [](int64_t n, const auto& o) { return zeros({1}, o).scatter(0, nowhere(n), 1, "add"); }},
    {"scatter_reduce, sum",
     [](int64_t n, const auto& o) { return zeros({1}, o).scatter_reduce(0, nowhere(n), ones({n}, o), "sum"); }},
    {"scatter_reduce, mean",
     [](int64_t n, const auto& o) {
       return zeros({2}, o).scatter_reduce(0, nowhere(n), ones({n}, o), "mean", false).mul(n);
     }},
    {"index_put",
     [](int64_t n, const auto& o) { return zeros({1}, o).index_put(list(nowhere(n)), ones({n}, o), true); }},
    {"index_put of one number",
     [](int64_t n, const auto& o) { return zeros({2, 2}, o).index_put(list(nowhere(n)), ones({}, o), true); }},
    {"index_put_ to a strided tensor",
     [](int64_t n, const auto& o) {
       const Tensor x = zeros({3, 2}, o);
       x.select(1, 0).index_put_(list(nowhere(n)), ones({n}, o), true);
       return x;
     }},
    {"index_put_ to few of many",
     [](int64_t n, const auto& o) {
       const Tensor x = zeros({100 * n}, o);
       return x.index_put_(list(nowhere(n)), ones({n}, o), true);
     }},
    {"gradient of embedding",
     [](int64_t n, const auto& o) {
       return gradientOf(ones({2, 3}, o), [&](const Tensor& x) { return embedding(x, nowhere(n)); });
     }},
    {"gradient of index_select",
     [](int64_t n, const auto& o) {
       return gradientOf(ones({2, 3}, o), [&](const Tensor& x) { return x.index_select(0, nowhere(n)); });
     }},
    {"gradient of gather",
     [](int64_t n, const auto& o) {
       return gradientOf(ones({2}, o), [&](const Tensor& x) { return x.gather(0, nowhere(n)); });
     }},
    {"gradient of take_along_dim",
     [](int64_t n, const auto& o) {
       return gradientOf(ones({2}, o), [&](const Tensor& x) { return take_along_dim(x, nowhere(n)); });
     }},
    {"gradient of index",
     [](int64_t n, const auto& o) {
       return gradientOf(ones({2, 3}, o), [&](const Tensor& x) { return x.index(list(nowhere(n))); });
     }},
    {"gradient of expand",
     [](int64_t n, const auto& o) { return gradientOf(ones({1}, o), [&](const Tensor& x) { return x.expand({n}); }); }},
    {"gradient of repeat",
     [](int64_t n, const auto& o) { return gradientOf(ones({1}, o), [&](const Tensor& x) { return x.repeat({n}); }); }},
    {"gradient of as_strided",
     [](int64_t n, const auto& o) {
       return gradientOf(ones({2}, o), [&](const Tensor& x) { return x.as_strided({n, 1}, {0, 1}); });
     }},
    {"gradient of max_pool2d",
     [](int64_t n, const auto& o) {
       const Tensor peak = zeros({1, 1, 2 * n - 1}, o);
       peak.select(2, n - 1).fill_(2);
       return gradientOf(peak, [&](const Tensor& x) { return max_pool2d(x, {1, n}, 1); }).amax().reshape({1});
     }},
    {"gradient of avg_pool2d",
     [](int64_t n, const auto& o) {
       return gradientOf(ones({1, 1, 2 * n - 1}, o),
                         [&](const Tensor& x) { return avg_pool2d(x, {1, n}, 1, 0, false, true, 1); })
           .amax()
           .reshape({1});
     }},
    {"gradient of cumsum",
     [](int64_t n, const auto& o) { return gradientOf(ones({n}, o), [](const Tensor& x) { return x.cumsum(0); }); }},
    {"gradient of cumprod",
     [](int64_t n, const auto& o) { return gradientOf(ones({n}, o), [](const Tensor& x) { return x.cumprod(0); }); }},
    {"gradient of conv2d's weight",
     [](int64_t n, const auto& o) {
       return gradientOf(ones({1, 1, 1, 1}, o), [&](const Tensor& x) { return conv2d(ones({n, 1, 1, 1}, o), x); });
     }},
    {"gradient of conv2d's bias",
     [](int64_t n, const auto& o) {
       const Tensor image = ones({1, 1, 1, n}, o), weight = ones({1, 1, 1, 1}, o);
       return gradientOf(ones({1}, o), [&](const Tensor& x) { return conv2d(image, weight, x); });
     }},
    {"gradient of conv1d's input",
     [](int64_t n, const auto& o) {
       return gradientOf(ones({1, 1, 2 * n - 1}, o), [&](const Tensor& x) { return conv1d(x, ones({1, 1, n}, o)); })
           .amax()
           .reshape({1});
     }},
    {"gradient of linear's bias",
     [](int64_t n, const auto& o) {
       return gradientOf(ones({2}, o), [&](const Tensor& x) { return linear(ones({n, 1}, o), ones({2, 1}, o), x); });
     }},
    {"gradient of layer_norm's bias",
     [](int64_t n, const auto& o) {
       return gradientOf(ones({2}, o),
                         [&](const Tensor& x) { return layer_norm(ones({n, 2}, o), {2}, ones({2}, o), x); });
     }},
    {"gradient of batch_norm's bias",
     [](int64_t n, const auto& o) {
       return gradientOf(ones({1}, o), [&](const Tensor& x) {
         return batch_norm(ones({n, 1}, o), ones({1}, o), x, {}, {}, true, 0.1, 1e-5, false);
       });
     }},
    {"gradient of addmm's self",
     [](int64_t n, const auto& o) {
       return gradientOf(ones({1}, o), [&](const Tensor& x) { return addmm(x, ones({n, 1}, o), ones({1, 1}, o)); });
     }},
    {"gradient of masked_fill's value",
     [](int64_t n, const auto& o) {
       const Tensor zero = zeros({n}, o);
       return gradientOf(ones({}, o), [&](const Tensor& x) { return zero.masked_fill(zero.eq(0), x); }).reshape({1});
     }},
    {"gradient of a broadcast factor",
     [](int64_t n, const auto& o) {
       return gradientOf(ones({1}, o), [&](const Tensor& x) { return x * ones({n}, o); });
     }},
    {"trace", [](int64_t n, const auto& o) { return ones({1}, o).expand({n, n}).trace().reshape({1}); }},
    {"matrix product", [](int64_t n, const auto& o) { return ones({1, n}, o).mm(ones({n, 1}, o)); }},
};

TEST(LowPrecision, SumsByIndex) {
  for (const ScalarType dtype : {kHalf, kBFloat16, kFloat})
    for (const int64_t n : {300, 4096})
      for (const SumCase& c : kSums) {
        const double got = valuesOf(c.f(n, TensorOptions(dtype)))[0];
        EXPECT_EQ(got, valuesOf(tensor({static_cast<double>(n)}).to(dtype))[0])
            << c.name << " of " << n << ' ' << dtype;
      }
}

// What comes before the sum is kept with it.
TEST(LowPrecision, SumsBeginWithWhatIsThere) {
  for (const ScalarType dtype : {kHalf, kBFloat16}) {
    const TensorOptions o(dtype);
    const Tensor three = full({2}, 3, o), at = nowhere(300), one = ones({300}, o);
    for (const Tensor& sum : {three.index_add(0, at, one), three.scatter_add(0, at, one),
                              three.index_put(list(at), one, true), three.scatter_reduce(0, at, one, "sum")})
      EXPECT_EQ(valuesOf(sum), (std::vector<double>{dtype == kHalf ? 303.0 : 304.0, 3}));
    EXPECT_EQ(valuesOf(three.scatter_reduce(0, at, one, "sum", false)), (std::vector<double>{300, 3}));
    EXPECT_EQ(valuesOf(three.scatter_reduce(0, at, one, "amax", true)), (std::vector<double>{3, 3}));
  }
}

// Far from each other, at the ends, and next to each other; in a tensor with strides, and in one that repeats elements.
TEST(LowPrecision, SumsOfFewOfManyElements) {
  for (const ScalarType dtype : {kHalf, kBFloat16}) {
    const TensorOptions o(dtype);
    const std::vector<double> places = {0, 63, 64, 65, 4999, 9999};
    const Tensor at = tensor(places, kLong).repeat({300}), one = ones({at.numel()}, o);
    const Tensor whole = ones({10000, 3}, o), column = whole.select(1, 1);
    for (int64_t i = 0; i < 3; ++i) column.index_put_(list(at), one, true);
    Tensor want = ones({10000, 3}, o);
    double sum = 1;
    for (int64_t i = 0; i < 3; ++i) sum = valuesOf(tensor({sum + 300}).to(dtype))[0];
    for (const double place : places) want.select(0, static_cast<int64_t>(place)).select(0, 1).fill_(sum);
    EXPECT_TRUE(whole.equal(want)) << dtype;

    const Tensor two = zeros({2}, o);
    two.unsqueeze(1).expand({2, 200}).index_put_(std::vector<std::optional<Tensor>>{tensor({1.0}, kLong), nowhere(1)},
                                                 ones({1}, o), true);
    two.unsqueeze(1).expand({2, 300}).index_put_(list(tensor({0.0}, kLong)), ones({1, 300}, o), true);
    EXPECT_EQ(valuesOf(two), (std::vector<double>{300, 1})) << dtype;
  }
}

TEST(LowPrecision, ProductsAreRoundedOnce) {
  for (const ScalarType dtype : {kHalf, kBFloat16}) {
    const TensorOptions o(dtype);
    const Tensor factor = full({300}, 1.0078125, o);
    const double want = valuesOf(tensor({std::pow(1.0078125, 300)}).to(dtype))[0];
    EXPECT_EQ(valuesOf(ones({1}, o).scatter_reduce(0, nowhere(300), factor, "prod"))[0], want) << dtype;
    EXPECT_EQ(valuesOf(ones({1}, o).scatter(0, nowhere(300), factor, "multiply"))[0], want) << dtype;
    EXPECT_EQ(valuesOf(factor.prod())[0], want) << dtype;
  }
}

/// An expanded tensor has one element in many places: a sum goes on from one to the next.
TEST(LowPrecision, SumsToRepeatedElements) {
  const Tensor x = zeros({1}, TensorOptions(kBFloat16));
  Tensor many = x.expand({300});
  many.index_put_(list(iota({300}, kLong)), ones({300}, TensorOptions(kBFloat16)), true);
  EXPECT_EQ(valuesOf(x)[0], 300);
}

}  // namespace
}  // namespace shunt::testing
