// Losses of classes: vmap equals the loop over samples, and so do gradients, for each reduction with weights, classes
// that are ignored, and samples without rows.
#include "tests/vmap/util.h"

namespace shunt::test {
namespace {

constexpr int64_t kSamples = 3, kClasses = 4;

struct Sort {
  int64_t rows;  // -1: a sample is one row without a dimension
  int64_t reduction, ignored;
  const char *classes, *weights;
};

template <class F>
void forEachSort(F&& f) {
  for (const int64_t rows : {-1, 0, 1, 5})
    for (const int64_t reduction : {0, 1, 2})
      for (const int64_t ignored : {-100, 1})
        for (const char* classes : {"each", "one", "some at -100"})
          for (const char* weights : {"no", "shared", "of samples", "zero"}) {
            if (classes[0] == 's' && ignored != -100) continue;
            SCOPED_TRACE(detail::str(rows, " rows, reduction ", reduction, ", ignoring ", ignored, ", classes ",
                                     classes, ", weights ", weights));
            f(Sort{rows, reduction, ignored, classes, weights});
          }
}

std::vector<int64_t> batchOf(std::vector<int64_t> sample) {
  sample.insert(sample.begin(), kSamples);
  return sample;
}

std::vector<int64_t> rowsOf(const Sort& s) { return s.rows < 0 ? std::vector<int64_t>{} : std::vector{s.rows}; }
std::vector<int64_t> scoresOf(const Sort& s) {
  return s.rows < 0 ? std::vector{kClasses} : std::vector{s.rows, kClasses};
}

Tensor targetsOf(const Sort& s) {
  Tensor t = randint(kClasses, batchOf(rowsOf(s)), TensorOptions(kLong));
  if (s.classes[0] == 'o') t.fill_(1);
  if (s.classes[0] == 's') t.masked_fill_(t.eq(2), -100);
  return t;
}

/// Undefined where there are none.
Tensor weightsOf(const Sort& s) {
  if (s.weights[0] == 'n') return Tensor();
  Tensor w =
      rand(s.weights[0] == 'o' ? std::vector{kSamples, kClasses} : std::vector{kClasses}, TensorOptions(kDouble));
  if (s.weights[0] == 'z') w.narrow(0, 0, 2).zero_();
  return w;
}

void expectTheLoop(const Sort& s, const Function& f, const Tensors& in) {
  std::vector<std::optional<int64_t>> dims(in.size(), 0);
  if (in.size() == 3 && s.weights[0] != 'o') dims[2] = std::nullopt;
  const Tensors got = vmapped(f, in, dims), expected = loop(f, in, dims);
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_LT(distance(got[i], expected[i]), 1e-12) << i;
}

TEST(VmapLosses, OfClassesEqualTheLoop) {
  manual_seed(11);
  forEachSort([](const Sort& s) {
    Tensors in = {randn(batchOf(scoresOf(s)), TensorOptions(kDouble)), targetsOf(s)};
    if (const Tensor w = weightsOf(s); w.defined()) in.push_back(w);
    const auto weight = [](const Tensors& t) { return t.size() > 2 ? std::optional(t[2]) : std::nullopt; };
    const auto loss = [=](const Tensors& t) { return nll_loss(t[0], t[1], weight(t), s.reduction, s.ignored); };
    expectTheLoop(s, [=](const Tensors& t) { return Tensors{loss(t)}; }, in);
    const auto entropy = [=](const Tensors& t, double smoothing) {
      return cross_entropy_loss(t[0], t[1], weight(t), s.reduction, s.ignored, smoothing);
    };
    expectTheLoop(s, [=](const Tensors& t) { return Tensors{entropy(t, 0), entropy(t, 0.25)}; }, in);
    const auto gradient = [=](const Tensors& t) {
      const auto of = [&](const auto& f) {
        return grad([&](const Tensor& x) {
          Tensors all = t;
          all[0] = x;
          return f(all).sum();
        })(t[0]);
      };
      return Tensors{of(loss), of([=](const Tensors& all) { return entropy(all, 0.25); })};
    };
    expectTheLoop(s, gradient, in);
  });
}

TEST(VmapLosses, OfProbabilitiesEqualTheLoop) {
  manual_seed(12);
  forEachSort([](const Sort& s) {
    if (s.ignored != -100 || s.classes[0] != 'e') return;
    const Tensor x = randn(batchOf(scoresOf(s)), TensorOptions(kDouble));
    Tensors in = {x, softmax(x * 2, -1)};
    if (const Tensor w = weightsOf(s); w.defined()) in.push_back(w);
    const auto loss = [=](const Tensors& t) {
      return cross_entropy_loss(t[0], t[1], t.size() > 2 ? std::optional(t[2]) : std::nullopt, s.reduction, -100, 0.25);
    };
    expectTheLoop(s, [=](const Tensors& t) { return Tensors{loss(t)}; }, in);
    expectTheLoop(
        s,
        [=](const Tensors& t) {
          return Tensors{grad([&](const Tensor& p) {
            Tensors all = t;
            all[1] = p;
            return loss(all).sum();
          })(t[1])};
        },
        in);
  });
}

// What is one number may have a dimension.
TEST(VmapLosses, GradientsOfClassesTakeANumberOfOneDimension) {
  const TensorOptions d(kDouble);
  const Tensor x = randn({kSamples, 2, kClasses}, d), classes = randint(kClasses, {kSamples, 2}, TensorOptions(kLong));
  for (const int64_t reduction : {1, 2})
    for (const bool one_row : {false, true})
      for (const unsigned batched : {0u, 1u, 2u, 3u}) {
        const auto of = [&](unsigned bit) {
          return rand((batched & bit) != 0 ? std::vector<int64_t>{kSamples, 1} : std::vector<int64_t>{1}, d) + 1;
        };
        const auto dim = [&](unsigned bit) { return (batched & bit) != 0 ? std::optional<int64_t>(0) : std::nullopt; };
        const Tensors in = {of(1), one_row ? x.select(1, 0) : x, one_row ? classes.select(1, 0) : classes, of(2)};
        const std::vector<std::optional<int64_t>> dims = {dim(1), 0, 0, dim(2)};
        const Function f = [=](const Tensors& t) {
          return Tensors{ops::nll_loss_backward::call(t[0], t[1], t[2], std::nullopt, reduction, -100, t[3])};
        };
        EXPECT_LT(distance(vmapped(f, in, dims)[0], loop(f, in, dims)[0]), 1e-14) << reduction << one_row << batched;
      }
}

// ---- of differences, of other dtypes ------------------------------------------------------------------------------
struct Operands {
  Tensors in;
  std::vector<std::optional<int64_t>> dims;
  std::string what;
};

/// All choices of dtypes, of whether a tensor has a dimension, and of what is batched, of `count` tensors.
template <class F>
void forEachOperands(size_t count, std::vector<ScalarType> dtypes, F&& f) {
  const size_t choices = dtypes.size() * 4;
  size_t all = 1;
  for (size_t i = 0; i < count; ++i) all *= choices;
  for (size_t n = 0; n < all; ++n) {
    Operands o;
    bool any = false;
    for (size_t i = 0, rest = n; i < count; ++i, rest /= choices) {
      const size_t choice = rest % choices;
      const bool has_dims = (choice & 1) != 0, batched = (choice & 2) != 0;
      std::vector<int64_t> sizes;
      if (batched) sizes.push_back(kSamples);
      if (has_dims) sizes.push_back(3);
      o.in.push_back(rand(sizes, TensorOptions(kDouble)).to(dtypes[choice / 4]));
      o.dims.push_back(batched ? std::optional<int64_t>(0) : std::nullopt);
      o.what += detail::str(dtypes[choice / 4], has_dims ? "[3]" : "[]", batched ? " batched, " : ", ");
      any |= batched;
    }
    if (any) f(o);
  }
}

double allowed(ScalarType t) { return t == kHalf ? 2e-3 : t == kBFloat16 ? 1.6e-2 : t == kFloat ? 1e-6 : 1e-12; }

void expectTheLoop(const Operands& o, const std::string& name, const Function& f) {
  Tensors got, expected;
  const std::string refused = errorOf([&] { expected = loop(f, o.in, o.dims); });
  const std::string error = errorOf([&] { got = vmapped(f, o.in, o.dims); });
  ASSERT_EQ(got.size(), expected.size()) << name << ' ' << o.what << "\nvmap: " << error << "\nloop: " << refused;
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].dtype(), expected[i].dtype()) << name << ' ' << o.what << "result " << i;
    ASSERT_LE(distance(got[i], expected[i]), allowed(expected[i].scalar_type()))
        << name << ' ' << o.what << "result " << i;
  }
}

TEST(VmapLosses, OfDifferencesKeepTheDtypeOfOneSample) {
  manual_seed(13);
  for (const int64_t reduction : {0, 1, 2, 3}) {
    forEachOperands(2, {kHalf, kBFloat16, kFloat, kDouble}, [&](const Operands& o) {
      expectTheLoop(o, "mse_loss", [=](const Tensors& t) { return Tensors{mse_loss(t[0], t[1], reduction)}; });
      expectTheLoop(o, "huber_loss", [=](const Tensors& t) { return Tensors{huber_loss(t[0], t[1], reduction)}; });
      expectTheLoop(o, "smooth_l1", [=](const Tensors& t) { return Tensors{smooth_l1_loss(t[0], t[1], reduction)}; });
    });
    forEachOperands(3, {kHalf, kFloat, kDouble}, [&](const Operands& o) {
      expectTheLoop(o, "mse_loss_backward", [=](const Tensors& t) {
        return Tensors{ops::mse_loss_backward::call(t[0], t[1], t[2], reduction)};
      });
      expectTheLoop(o, "huber_loss_backward", [=](const Tensors& t) {
        return Tensors{ops::huber_loss_backward::call(t[0], t[1], t[2], reduction, 0.5)};
      });
      expectTheLoop(o, "smooth_l1_loss_backward", [=](const Tensors& t) {
        return Tensors{ops::smooth_l1_loss_backward::call(t[0], t[1], t[2], reduction, 0.5)};
      });
    });
  }
}

// ---- networks' other operators, of other dtypes -------------------------------------------------------------------
TEST(VmapNetworks, LayerNormKeepsTheDtypeOfOneSample) {
  manual_seed(14);
  const ScalarType dtypes[] = {kHalf, kBFloat16, kFloat, kDouble, kInt};
  for (const ScalarType of_input : dtypes)
    for (const ScalarType of_weight : dtypes)
      for (const ScalarType of_bias : dtypes)
        for (unsigned batched = 1; batched < 8; ++batched)
          for (const int64_t width : {4, 3}) {
            Operands o;
            for (const ScalarType t : {of_input, of_weight, of_bias}) {
              const bool is_batched = (batched >> o.in.size() & 1) != 0;
              std::vector<int64_t> sizes = {o.in.size() == 2 ? width : 4};
              if (is_batched) sizes.insert(sizes.begin(), kSamples);
              o.in.push_back(randn(sizes, TensorOptions(kDouble)).to(t));
              o.dims.push_back(is_batched ? std::optional<int64_t>(0) : std::nullopt);
              o.what += detail::str(t, IntArrayRef(sizes), is_batched ? " batched, " : ", ");
            }
            expectTheLoop(o, "layer_norm", [](const Tensors& t) {
              const auto [out, mean, rstd] = ops::native_layer_norm::call(t[0], {4}, t[1], t[2], 1e-5);
              return Tensors{out, mean, rstd};
            });
            expectTheLoop(o, "gradient of layer_norm", [](const Tensors& t) {
              return grad([](const Tensors& in) { return layer_norm(in[0], {4}, in[1], in[2], 1e-5).square().sum(); })(
                  t);
            });
          }
  const Operands tall{{randn({kSamples, 4})}, {0}, "a batch as a dimension"};
  expectTheLoop(tall, "layer_norm", [](const Tensors& t) {
    return Tensors{layer_norm(t[0], {kSamples, 4}, std::nullopt, std::nullopt, 1e-5)};
  });
}

TEST(VmapNetworks, TheBiasOfLinearChangesNoDtype) {
  const Tensor x = ones({2}, TensorOptions(kShort)), w = ones({3, 2}, TensorOptions(kShort));
  for (const ScalarType t : {kInt, kByte, kFloat})
    for (const int64_t width : {3, 1, 2})
      for (const bool batched : {false, true}) {
        const Operands o{{batched ? x.expand({kSamples, 2}) : x, w, ones({kSamples, width}, TensorOptions(t))},
                         {batched ? std::optional<int64_t>(0) : std::nullopt, std::nullopt, 0},
                         detail::str("bias ", t, '[', width, ']')};
        expectTheLoop(o, "linear", [](const Tensors& in) { return Tensors{linear(in[0], in[1], in[2])}; });
      }
}

}  // namespace
}  // namespace shunt::test
