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

}  // namespace
}  // namespace shunt::test
