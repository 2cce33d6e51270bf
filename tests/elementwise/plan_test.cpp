// Broadcasting, layout of outputs, out= and in-place rules, overlap, devices, undefined tensors, empty tensors.
#include "tests/elementwise/elementwise_test_util.h"
#include "tests/math/inputs.h"

#include <shunt/core/log.h>
#include <shunt/ops.h>

namespace shunt::elementwise_test {
namespace {

using elementwise::pathCounters;
using elementwise::run;
using elementwise::runInplace;
using elementwise::runOut;
using functors::Add;
using functors::Mul;

int warnings = 0;

Tensor iota(const Sizes& sizes, const Sizes& strides = {}) {
  Tensor t = makeTensor(kFloat, sizes, strides);
  for (int64_t i = 0; i < t.numel(); ++i) put<float>(t, i, static_cast<float>(i));
  return t;
}

Tensor plus(const Tensor& a, const Tensor& b) { return run<Add>("add", a, b, 1); }

TEST(Broadcast, ValuesAndShapes) {
  struct Shapes {
    Sizes a, b, result;
  };
  const Shapes cases[] = {
      {{2, 3}, {3}, {2, 3}},   {{2, 1}, {1, 3}, {2, 3}}, {{4, 1, 3}, {2, 1}, {4, 2, 3}},      {{}, {2, 2}, {2, 2}},
      {{1}, {}, {1}},          {{0, 3}, {1}, {0, 3}},    {{5, 1, 1, 1}, {70}, {5, 1, 1, 70}}, {{300}, {2, 1}, {2, 300}},
      {{1, 0}, {2, 1}, {2, 0}}};
  for (const Shapes& s : cases) {
    const Tensor a = iota(s.a), b = iota(s.b), r = plus(a, b);
    ASSERT_EQ(r.sizes(), IntArrayRef(s.result));
    const auto at = [&](const Tensor& t, int64_t index) {
      int64_t offset = 0, step = 1;
      for (int64_t k = 1; k <= static_cast<int64_t>(s.result.size()); ++k) {
        const int64_t n = s.result[s.result.size() - static_cast<size_t>(k)], coordinate = index % n;
        index /= n;
        if (k > t.dim()) continue;
        const int64_t size = t.sizes()[static_cast<size_t>(t.dim() - k)];
        offset += (size == 1 ? 0 : coordinate) * step;
        step *= size;
      }
      return static_cast<float>(offset);
    };
    for (int64_t i = 0; i < r.numel(); ++i) ASSERT_EQ(get<float>(r, i), at(a, i) + at(b, i));
  }
}

TEST(Broadcast, ErrorNamesSizesAndDimension) {
  EXPECT_ERROR(plus(iota({2, 3}), iota({2, 4})),
               "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1");
  EXPECT_ERROR(plus(iota({2, 3}), iota({2, 4})), "[2, 3] and [2, 4]");
  EXPECT_ERROR(plus(iota({3}), iota({2, 4})),
               "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1");
}

TEST(Layout, OutputStrides) {
  struct Layout {
    Sizes sizes, a_strides, b_strides, expected;
  };
  const Layout cases[] = {{{3, 4}, {4, 1}, {4, 1}, {4, 1}},
                          {{3, 4}, {1, 3}, {1, 3}, {1, 3}},  // both transposed: kept
                          {{3, 4}, {4, 1}, {1, 3}, {4, 1}},  // the first decides
                          {{3, 4}, {1, 3}, {4, 1}, {1, 3}},
                          {{3, 4}, {1, 8}, {1, 8}, {1, 3}},  // not dense: dense in the same order
                          {{3, 4}, {0, 1}, {1, 3}, {1, 3}},  // a repeated dimension has no say
                          {{2, 3, 4}, {1, 8, 2}, {1, 8, 2}, {1, 8, 2}},
                          {{2, 3, 4, 5}, {60, 1, 15, 3}, {60, 1, 15, 3}, {60, 1, 15, 3}},  // channels last
                          {{2, 3, 4, 5}, {60, 1, 15, 3}, {60, 20, 5, 1}, {60, 1, 15, 3}},
                          {{1, 4}, {7, 1}, {4, 1}, {4, 1}}};
  for (const Layout& l : cases) {
    const Tensor a = makeTensor(kFloat, l.sizes, l.a_strides), b = makeTensor(kFloat, l.sizes, l.b_strides);
    fillInteresting(a, 1);
    fillInteresting(b, 2);
    EXPECT_EQ(plus(a, b).strides(), IntArrayRef(l.expected))
        << IntArrayRef(l.a_strides) << " + " << IntArrayRef(l.b_strides);
  }
  // Without elements, too, and for numbers: the dimension of size 0 comes first, and what is behind it has stride 0.
  for (const ScalarType dtype : {kFloat, kDouble, kLong})
    EXPECT_EQ(add(empty({0, 1, 3}, TensorOptions(dtype)), 2).strides(), IntArrayRef({3, 0, 1})) << dtype;
  EXPECT_EQ(add(empty({0, 1, 3}), empty({0, 1, 3})).strides(), IntArrayRef({3, 3, 1}));
  // PyTorch's kernels name some operands in another order, and that order decides.
  const Tensor rows = iota({3, 4}), columns = iota({3, 4}, {1, 3});
  EXPECT_EQ(run<functors::Rsub>("rsub", rows, columns, 1).strides(), IntArrayRef({1, 3}));
  EXPECT_EQ(run<functors::ThresholdBackward>("threshold_backward", rows, columns, 0).strides(), IntArrayRef({1, 3}));
  EXPECT_EQ(run<functors::MseLossBackward>("mse_loss_backward", columns, rows, columns, 2).strides(),
            IntArrayRef({4, 1}));
  const Tensor mask = run<functors::Gt>("gt", columns, 5);
  EXPECT_EQ(mask.strides(), IntArrayRef({1, 3}));
  EXPECT_EQ(run<functors::MaskedFill>("masked_fill", columns, mask, 0).strides(), IntArrayRef({4, 1}));
  // An expanded operand that is cast counts as its dense copy.
  const Tensor bools = makeView(tensorOf<bool>({true, false, true, true}), {4, 2}, {1, 0});
  EXPECT_EQ(run<functors::Remainder>("remainder", bools, makeTensor(kBFloat16, {4, 2}, {1, 4})).strides(),
            IntArrayRef({2, 1}));
  EXPECT_EQ(run<functors::LogicalAnd>("logical_and", bools, makeTensor(kBool, {4, 2}, {1, 4})).strides(),
            IntArrayRef({1, 4}));
  // A number beside a transposed tensor.
  EXPECT_EQ(run<Mul>("mul", iota({3, 4}, {1, 3}), 2).strides(), IntArrayRef({1, 3}));
  EXPECT_EQ(plus(iota({3, 4}, {1, 3}), iota({4})).strides(), IntArrayRef({1, 3}));
}

TEST(Out, TakesShapeAndCasts) {
  Tensor out = makeTensor(kDouble, {2, 3}, {1, 2});
  runOut<Add>("add", out, iota({2, 3}), iota({3}), 1);
  EXPECT_EQ(out.strides(), IntArrayRef({1, 2}));
  EXPECT_EQ(valuesOf<double>(out), (std::vector<double>{0, 2, 4, 3, 5, 7}));
  Tensor ints = makeTensor(kLong, {3});
  EXPECT_ERROR(runOut<Add>("add", ints, iota({3}), iota({3}), 1),
               "result type Float can't be cast to the desired output type Long");
  Tensor bools = makeTensor(kBool, {3});
  EXPECT_ERROR(runOut<Add>("add", bools, tensorOf<int32_t>({1, 2, 3}), 1, 1),
               "result type Int can't be cast to the desired output type Bool");
  Tensor floats = makeTensor(kFloat, {3});
  runOut<functors::Lt>("lt", floats, iota({3}), 1.5);
  EXPECT_EQ(valuesOf<float>(floats), (std::vector<float>{1, 1, 0}));
  // One input or numbers beside it: no cast at all.
  Tensor wide = makeTensor(kDouble, {3});
  EXPECT_ERROR(runOut<functors::Abs>("abs", wide, iota({3})), "Found dtype Double but expected Float");
  EXPECT_ERROR(runOut<functors::Clamp>("clamp", wide, iota({3}), 0, 1), "Found dtype Double but expected Float");
  runOut<functors::Clamp>("clamp", wide, iota({3}), zeroDim(0.5f), zeroDim(1.5f));
  EXPECT_EQ(valuesOf<double>(wide), (std::vector<double>{0.5, 1, 1.5}));
  Tensor undefined;
  EXPECT_ERROR(runOut<Add>("add", undefined, iota({3}), iota({3}), 1), "output is an undefined tensor");
}

TEST(Out, IsResized) {
  const LogSink before = set_log_sink([](LogLevel level, const char*) { warnings += level == LogLevel::kWarning; });
  Tensor out = makeTensor(kFloat, {0});
  runOut<Add>("add", out, iota({2, 3}, {1, 2}), iota({2, 3}, {1, 2}), 1);
  EXPECT_EQ(out.strides(), IntArrayRef({1, 2}));
  EXPECT_EQ(valuesOf<float>(out), (std::vector<float>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(warnings, 0);
  runOut<Add>("add", out, iota({5}), iota({1}), 1);
  EXPECT_EQ(valuesOf<float>(out), (std::vector<float>{0, 1, 2, 3, 4}));
  EXPECT_EQ(warnings, 1);
  // An output that is also an input can't be.
  Tensor self = iota({3});
  EXPECT_ERROR(runOut<Add>("add", self, self, iota({2, 3}), 1),
               "output with shape [3] doesn't match the broadcast shape [2, 3]");
  EXPECT_EQ(self.sizes(), IntArrayRef({3}));
  set_log_sink(before);
}

TEST(Inplace, Rules) {
  Tensor self = iota({2, 3});
  runInplace<Add>("add_", self, iota({3}), 1);
  EXPECT_EQ(valuesOf<float>(self), (std::vector<float>{0, 2, 4, 3, 5, 7}));
  Tensor row = iota({3});
  EXPECT_ERROR(runInplace<Add>("add_", row, iota({2, 3}), 1),
               "output with shape [3] doesn't match the broadcast shape [2, 3]");
  EXPECT_EQ(valuesOf<float>(row), (std::vector<float>{0, 1, 2}));
  Tensor ints = tensorOf<int32_t>({1, 2});
  EXPECT_ERROR(runInplace<Add>("add_", ints, 0.5, 1), "result type Float can't be cast to the desired output type Int");
  runInplace<Mul>("mul_", ints, tensorOf<int64_t>({10, 20}));
  EXPECT_EQ(valuesOf<int32_t>(ints), (std::vector<int32_t>{10, 40}));
  runInplace<functors::Eq>("eq_", ints, 10);
  EXPECT_EQ(valuesOf<int32_t>(ints), (std::vector<int32_t>{1, 0}));
  Tensor zero = zeroDim(2.0f);
  EXPECT_ERROR(runInplace<Add>("add_", zero, iota({2}), 1),
               "output with shape [] doesn't match the broadcast shape [2]");
}

TEST(Inplace, Overlap) {
  const Tensor base = iota({8});
  Tensor expanded = makeView(base, {4, 2}, {0, 1});
  EXPECT_ERROR(runInplace<Add>("add_", expanded, 1, 1),
               "more than one element of the written-to tensor refers to a single memory location");
  Tensor low = makeView(base, {4}, {1}, 0);
  EXPECT_ERROR(runInplace<Add>("add_", low, makeView(base, {4}, {1}, 2), 1),
               "some elements of the input tensor and the written-to tensor refer to a single memory location");
  EXPECT_ERROR(runInplace<Add>("add_", low, makeView(base, {}, {}, 1), 1), "some elements of the input tensor");
  EXPECT_EQ(valuesOf<float>(base), valuesOf<float>(iota({8})));
  warnings = 0;
  const LogSink before = set_log_sink([](LogLevel level, const char*) { warnings += level == LogLevel::kWarning; });
  Tensor filled = makeView(iota({2}), {4, 2}, {0, 1});
  runInplace<functors::MaskedFill>("masked_fill_", filled, tensorOf<bool>({true, false}), 9);
  EXPECT_EQ(valuesOf<float>(filled), (std::vector<float>{9, 1, 9, 1, 9, 1, 9, 1}));
  EXPECT_EQ(warnings, 1);
  set_log_sink(before);
  // The same elements, or other ones, are fine.
  runInplace<Add>("add_", low, makeView(base, {4}, {1}, 0), 1);
  runInplace<Add>("add_", low, makeView(base, {4}, {1}, 4), 1);
  EXPECT_EQ(valuesOf<float>(base), (std::vector<float>{4, 7, 10, 13, 4, 5, 6, 7}));
  Tensor square = iota({2, 2});
  EXPECT_ERROR(runInplace<Add>("add_", square, transposed(square), 1), "some elements of the input tensor");
}

TEST(Errors, UndefinedAndDevices) {
  const Tensor a = iota({2}), undefined;
  EXPECT_ERROR(plus(a, undefined), "add(): argument 'other' (position 2) is an undefined tensor");
  EXPECT_ERROR(run<functors::Addcmul>("addcmul", a, undefined, a, 1),
               "addcmul(): argument 'tensor1' (position 2) is an undefined tensor");
  Tensor none;
  EXPECT_ERROR(runInplace<Add>("add_", none, a, 1), "undefined tensor");
  const Tensor meta = makeTensor(kFloat, {2, 1}, {}, kMeta);
  EXPECT_ERROR(plus(a, meta),
               "Expected all tensors to be on the same device, but found at least two devices, cpu and meta!");
  const Tensor r = plus(meta, zeroDim(1.0));
  EXPECT_TRUE(r.is_meta());
  EXPECT_EQ(r.sizes(), IntArrayRef({2, 1}));
  EXPECT_EQ(r.dtype(), kFloat);
  EXPECT_EQ(plus(meta, makeTensor(kDouble, {3}, {}, kMeta)).sizes(), IntArrayRef({2, 3}));
}

TEST(Division, ByZeroLeavesTheOutputAlone) {
  const Tensor a = tensorOf<int32_t>({6, 7}), b = tensorOf<int32_t>({3, 0});
  EXPECT_ERROR(run<functors::DivTrunc>("div", a, b), "ZeroDivisionError");
  EXPECT_ERROR(run<functors::Remainder>("remainder", a, 0), "ZeroDivisionError");
  Tensor self = tensorOf<int32_t>({6, 7});
  EXPECT_ERROR(runInplace<functors::DivFloor>("floor_divide_", self, b), "ZeroDivisionError");
  EXPECT_EQ(valuesOf<int32_t>(self), (std::vector<int32_t>{6, 7}));
}

TEST(Division, IntegerRules) {
  constexpr int32_t kMin = std::numeric_limits<int32_t>::min();
  const Tensor a = tensorOf<int32_t>({7, -7, 7, -7, kMin}), b = tensorOf<int32_t>({2, 2, -2, -2, -1});
  using V = std::vector<int32_t>;
  EXPECT_EQ(valuesOf<int32_t>(run<functors::DivTrunc>("div", a, b)), (V{3, -3, -3, 3, kMin}));
  EXPECT_EQ(valuesOf<int32_t>(run<functors::DivFloor>("div", a, b)), (V{3, -4, -4, 3, kMin}));
  EXPECT_EQ(valuesOf<int32_t>(run<functors::Remainder>("remainder", a, b)), (V{1, 1, -1, -1, 0}));
  EXPECT_EQ(valuesOf<int32_t>(run<functors::Fmod>("fmod", a, b)), (V{1, -1, 1, -1, 0}));
  EXPECT_EQ(valuesOf<int32_t>(run<functors::Pow>("pow", tensorOf<int32_t>({3, -1, -1, 1, 2, 0}),
                                                 tensorOf<int32_t>({4, -3, -2, -9, -1, 0}))),
            (V{81, -1, 1, 1, 0, 1}));
}

TEST(Division, FloatRules) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const Tensor a = tensorOf<float>({7, -7, 1, -1, 5, 1e30f, 1}), b = tensorOf<float>({2, 2, 0, 0, kInf, 3, 0.1f});
  // 1 / 0.1f rounds to 10, but 0.1f is above a tenth.
  EXPECT_EQ(valuesOf<float>(run<functors::DivFloor>("div", a, b)),
            (std::vector<float>{3, -4, kInf, -kInf, 0, std::floor(1e30f / 3), 9}));
  std::mt19937_64 random(3);
  for (int i = 0; i < 200000; ++i) {
    const double x = std::bit_cast<double>(random()), y = std::bit_cast<double>(random());
    ASSERT_TRUE(math_test::sameBits(functors::fmod(x, y), std::fmod(x, y))) << x << " mod " << y;
    const float s = std::bit_cast<float>(static_cast<uint32_t>(random())),
                t = std::bit_cast<float>(static_cast<uint32_t>(random()));
    ASSERT_TRUE(math_test::sameBits(functors::fmod(s, t), std::fmod(s, t))) << s << " mod " << t;
  }
}

TEST(Select, NanAndSignedZero) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor a = tensorOf<float>({nan, 1, 0.0f, -0.0f}), b = tensorOf<float>({1, nan, -0.0f, 0.0f});
  for (const Tensor& r : {run<functors::Maximum>("maximum", a, b), run<functors::Minimum>("minimum", a, b)}) {
    EXPECT_TRUE(std::isnan(get<float>(r, 0)) && std::isnan(get<float>(r, 1)));
    EXPECT_FALSE(std::signbit(get<float>(r, 2)));
    EXPECT_TRUE(std::signbit(get<float>(r, 3)));
  }
  EXPECT_TRUE(std::isnan(get<float>(run<functors::Relu>("relu", a), 0)));
  EXPECT_EQ(valuesOf<float>(run<functors::Clamp>("clamp", tensorOf<float>({-5, 0, 5}), 2, 1)),
            (std::vector<float>{1, 1, 1}));
  EXPECT_EQ(run<functors::Clamp>("clamp", tensorOf<int32_t>({1}), 0.5, 2.5).dtype(), kFloat);
  EXPECT_EQ(run<functors::Clamp>("clamp", wrapped(0.5), -2, 2).dtype(), kDouble);
  EXPECT_ERROR(run<functors::Clamp>("clamp", tensorOf<int8_t>({1}), 0, 1000),
               "value cannot be converted to type Char without overflow: 1000");
  Tensor spread = makeView(tensorOf<float>({-4, 3}), {3, 2}, {0, 1});
  runInplace<functors::Threshold>("threshold_", spread, -2, 0);
  EXPECT_EQ(valuesOf<float>(spread), (std::vector<float>{0, 3, 0, 3, 0, 3}));
  const Tensor bools = tensorOf<bool>({true, false});
  EXPECT_EQ(valuesOf<bool>(run<functors::ClampMin>("clamp_min", bools, zeroDim(true))),
            (std::vector<bool>{true, true}));
  EXPECT_ERROR(run<functors::ClampMin>("clamp_min", bools, true), "\"clamp_min\" not implemented for 'Bool'");
}

TEST(FastPath, Counters) {
  const Tensor a = iota({4, 4}), b = iota({4, 4});
  const auto fast = [](auto&& f) {
    const auto before = pathCounters();
    f();
    EXPECT_EQ(pathCounters().fast + pathCounters().planned, before.fast + before.planned + 1);
    return pathCounters().fast != before.fast;
  };
  Tensor self = iota({4, 4}), out = makeTensor(kFloat, {4, 4});
  EXPECT_TRUE(fast([&] { plus(a, b); }));
  EXPECT_TRUE(fast([&] { run<Mul>("mul", a, 2.5); }));
  EXPECT_TRUE(fast([&] { run<Mul>("mul", 2, a); }));
  EXPECT_TRUE(fast([&] { plus(a, zeroDim(1.0f)); }));
  EXPECT_TRUE(fast([&] { plus(zeroDim(1.0f), a); }));
  EXPECT_TRUE(fast([&] { runInplace<Add>("add_", self, b, 1); }));
  EXPECT_TRUE(fast([&] { runInplace<Add>("add_", self, self, 1); }));
  EXPECT_TRUE(fast([&] { runInplace<Mul>("mul_", self, 0.5); }));
  EXPECT_TRUE(fast([&] { runOut<Add>("add", out, a, b, 1); }));
  EXPECT_TRUE(fast([&] { run<functors::Where>("where", tensorOf<bool>(std::vector<bool>(4, true)), iota({4}), 0.5); }));
  EXPECT_FALSE(fast([&] { plus(a, iota({4})); }));
  EXPECT_FALSE(fast([&] { plus(a, transposed(b)); }));
  EXPECT_FALSE(fast([&] { plus(a, tensorOf<double>({1})); }));
  EXPECT_FALSE(fast([&] { run<Add>("add", tensorOf<int32_t>({1}), 2.5, 1); }));
  EXPECT_FALSE(fast([&] { plus(a, wrapped(2.0)); }));
}

TEST(Copy, CastsEveryDtype) {
  constexpr ScalarType kDtypes[] = {kByte, kChar, kShort, kInt, kLong, kHalf, kFloat, kDouble, kBool, kBFloat16};
  for (ScalarType from : kDtypes)
    for (ScalarType to : kDtypes)
      for (const Sizes& strides : {Sizes{1, 301}, Sizes{7, 1}, Sizes{14, 2}}) {
        const Tensor source = makeTensor(from, {300, 7}, strides);
        fillInteresting(source, 9);
        Tensor out = makeTensor(to, {300, 7}), expected = makeTensor(to, {300, 7});
        dispatchAllTypes(from, "from", [&]<class F>(std::type_identity<F>) {
          dispatchAllTypes(to, "to", [&]<class T>(std::type_identity<T>) {
            for (int64_t i = 0; i < source.numel(); ++i) put<T>(expected, i, cast<T>(get<F>(source, i)));
          });
        });
        runOut<functors::Copy>("copy_", out, source);
        expectSame(out, expected, detail::str(from, " -> ", to));
      }
  Tensor filled = makeTensor(kInt, {3, 2}, {1, 3});
  runOut<functors::Copy>("fill_", filled, makeView(tensorOf<float>({2.75f}), {3, 2}, {0, 0}));
  EXPECT_EQ(valuesOf<int32_t>(filled), (std::vector<int32_t>(6, 2)));
}

}  // namespace
}  // namespace shunt::elementwise_test
