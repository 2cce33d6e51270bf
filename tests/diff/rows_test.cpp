// Kernels along rows and columns in thunks: reductions over dimensions that follow one another, softmax and its
// gradients. The thunk's own loop ran, and left what the interpreter leaves, bit for bit; other operands of the pair go
// to the interpreter.
#include "kernels/nn/layer_norm.h"
#include "kernels/rows/expected.h"
#include "tests/diff/loop_cases.h"

#include <pthread.h>
#include <cmath>
#include <string_view>

namespace diff {
namespace {

using namespace shunt;

/// In short rows with special values among others: zeros of both signs, infinities, NaN, which in long ones would be
/// all that is left.
Tensor data(std::vector<int64_t> sizes, ScalarType dtype = kFloat) {
  Tensor t = numbers(sizes);
  if (sizes.back() > 30) return t.to(dtype);
  float* p = static_cast<float*>(t.data_ptr());
  constexpr float kValues[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1e-42f};
  for (int64_t i = 0; i < t.numel(); i += 7) p[i] = kValues[(i / 7) % 6];
  return t.to(dtype);
}

struct Reduce {
  const char* name;
  std::function<Tensor(const Tensor&)> all;
  std::function<Tensor(const Tensor&)> last;
  bool floating_only = false;
};

const Reduce kReductions[] = {
    {"sum", [](const Tensor& t) { return t.sum(); }, [](const Tensor& t) { return t.sum({-1}, false); }},
    {"mean", [](const Tensor& t) { return t.mean(); }, [](const Tensor& t) { return t.mean({-1}, true); }, true},
    {"prod", [](const Tensor& t) { return t.prod(); }, [](const Tensor& t) { return t.prod(-1, false); }},
    {"amax", [](const Tensor& t) { return t.amax(); }, [](const Tensor& t) { return t.amax({-1}, false); }},
    {"amin", [](const Tensor& t) { return t.amin(); }, [](const Tensor& t) { return t.amin({-1}, true); }},
    {"any", [](const Tensor& t) { return t.any(); }, [](const Tensor& t) { return t.any(-1, false); }},
    {"all", [](const Tensor& t) { return t.all(); }, [](const Tensor& t) { return t.all(-1, true); }},
};
constexpr ScalarType kDtypes[] = {kFloat, kDouble, kHalf, kBFloat16, kByte, kChar, kShort, kInt, kLong, kBool};
// Around the lanes' 16 and 64, up to a block.
constexpr int64_t kLengths[] = {2, 3, 15, 16, 17, 63, 64, 65, 79, 100, 1000, 4096};

#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr size_t kSmallStack = 512 << 10;  // sanitizers' frames are large
#else
constexpr size_t kSmallStack = 64 << 10;
#endif

uint64_t interpretedLoops() { return rows::interpretedCalls(); }

TEST(RowsOfReductions, EveryDtypeAndLength) {
  for (const Reduce& r : kReductions)
    for (const ScalarType dtype : kDtypes) {
      if (r.floating_only && !isFloatingType(dtype)) continue;
      SCOPED_TRACE(testing::Message() << r.name << ' ' << dtype);
      std::vector<LoopCase> all, last;
      for (const int64_t n : kLengths) {
        all.push_back({r.name, [=] { return Operands{data({n}, dtype)}; },
                       [&](const Operands& x) { return Results{r.all(x[0])}; }});
        last.push_back({r.name, [=] { return Operands{data({3, n}, dtype)}; },
                        [&](const Operands& x) { return Results{r.last(x[0])}; }});
      }
      expectOwnLoops(all, interpretedLoops);
      expectOwnLoops(last, interpretedLoops);
      if (HasFailure()) return;
    }
}

Results both(std::tuple<Tensor, Tensor> found) { return {std::get<0>(found), std::get<1>(found)}; }

struct Columns {
  const char* name;
  std::function<Results(const Tensor&, int64_t)> call;
  bool floating_only = false, takes_bool = true;
};

const Columns kColumns[] = {
    {"sum", [](const Tensor& t, int64_t d) { return Results{t.sum({d}, false)}; }},
    {"mean", [](const Tensor& t, int64_t d) { return Results{t.mean({d}, true)}; }, true},
    {"prod", [](const Tensor& t, int64_t d) { return Results{t.prod(d, false)}; }},
    {"amax", [](const Tensor& t, int64_t d) { return Results{t.amax({d}, true)}; }},
    {"amin", [](const Tensor& t, int64_t d) { return Results{t.amin({d}, false)}; }},
    {"any", [](const Tensor& t, int64_t d) { return Results{t.any(d, false)}; }},
    {"all", [](const Tensor& t, int64_t d) { return Results{t.all(d, true)}; }},
    {"argmax", [](const Tensor& t, int64_t d) { return Results{t.argmax(d, false)}; }, false, false},
    {"max", [](const Tensor& t, int64_t d) { return both(t.max(d, false)); }},
    {"min", [](const Tensor& t, int64_t d) { return both(t.min(d, true)); }},
};

// Around the groups of 8 rows, the blocks of 256 and the groups of 8 and of 64 columns; batches of columns. Fewer
// columns and rows are the interpreter's.
TEST(ColumnsOfReductions, EveryAccumulatorAndSize) {
  for (const Columns& c : kColumns)
    for (const ScalarType dtype : {kFloat, kDouble, kBFloat16, kByte, kLong, kBool}) {
      if ((c.floating_only && !isFloatingType(dtype)) || (dtype == kBool && !c.takes_bool)) continue;
      SCOPED_TRACE(testing::Message() << c.name << ' ' << dtype);
      std::vector<LoopCase> cases;
      const auto add = [&](std::vector<int64_t> sizes, int64_t d, bool own_loop = true) {
        cases.push_back({c.name, [=] { return Operands{data(sizes, dtype)}; },
                         [&c, d](const Operands& x) { return c.call(x[0], d); }, own_loop});
      };
      for (const int64_t n : {2, 7, 8, 9, 64, 255, 256, 257, 512})
        for (const int64_t columns : {8, 9, 10, 64})
          if (n * columns <= kDefaultGrain) add({n, columns}, 0);
      add({4, 300}, 0);
      add({20, 127}, 0);
      add({2, 300, 9}, 1);
      add({2, 20, 3, 6}, 1);
      add({20, 7}, 0, false);
      add({3, 20}, 1, false);
      expectOwnLoops(cases, interpretedLoops);
      if (HasFailure()) return;
    }
}

// A thunk that expected rows or columns would meet none.
TEST(RowsOfReductions, DimensionsApartAreNotExpected) {
  jit::clear();
  const Tensor x = numbers({4, 8, 2});
  for (int i = 0; i < 3; ++i) x.sum({0, 2}, false);
  bool found = false;
  for (const jit::PairStats& p : jit::stats().pairs) {
    if (p.op != "aten::sum.dim_IntList" || p.keys != "CPU" || p.signature != "Float contiguous") continue;
    found = true;
    EXPECT_EQ(p.state, jit::PairState::kCompiled);
    EXPECT_NE(p.plan.find("loop: none seen"), p.plan.npos) << p.plan;
  }
  EXPECT_TRUE(found);
}

struct ArgReduce {
  const char* name;
  std::function<Results(const Tensor&)> call;
  bool takes_bool = true;
};

const ArgReduce kArgReductions[] = {
    {"argmax", [](const Tensor& t) { return Results{t.argmax(-1, false)}; }, false},
    {"argmin", [](const Tensor& t) { return Results{t.argmin(-1, true)}; }, false},
    {"argmax of all", [](const Tensor& t) { return Results{t.argmax()}; }, false},
    {"max along a dimension", [](const Tensor& t) { return both(t.max(-1, false)); }},
    {"min along a dimension", [](const Tensor& t) { return both(t.min(-1, true)); }},
};

TEST(RowsOfReductionsWithIndices, EveryAccumulatorAndLength) {
  for (const ArgReduce& r : kArgReductions)
    for (const ScalarType dtype : {kFloat, kDouble, kBFloat16, kInt, kLong, kBool}) {
      if (dtype == kBool && !r.takes_bool) continue;
      SCOPED_TRACE(testing::Message() << r.name << ' ' << dtype);
      std::vector<LoopCase> cases;
      const bool all = std::string_view(r.name).ends_with("all");
      for (const int64_t n : kLengths)
        cases.push_back({r.name, [=] { return Operands{all ? data({n}, dtype) : data({3, n}, dtype)}; },
                         [&](const Operands& x) { return r.call(x[0]); }});
      expectOwnLoops(cases, interpretedLoops);
      if (HasFailure()) return;
    }
}

struct Softmax {
  const char* name;
  std::function<Results(const Operands&)> call;
};
const Softmax kSoftmaxes[] = {
    {"softmax", [](const Operands& x) { return Results{shunt::_softmax(x[0], -1, false)}; }},
    {"log_softmax", [](const Operands& x) { return Results{shunt::_log_softmax(x[0], x[0].dim() - 1, false)}; }},
    {"softmax backward",
     [](const Operands& x) { return Results{shunt::_softmax_backward_data(x[0], x[1], -1, x[0].scalar_type())}; }},
    {"log_softmax backward",
     [](const Operands& x) { return Results{shunt::_log_softmax_backward_data(x[0], x[1], -1, x[0].scalar_type())}; }},
};

TEST(RowsOfSoftmax, EveryDtypeAndLength) {
  for (const Softmax& s : kSoftmaxes)
    for (const ScalarType dtype : {kFloat, kDouble, kHalf, kBFloat16}) {
      SCOPED_TRACE(testing::Message() << s.name << ' ' << dtype);
      std::vector<LoopCase> cases;
      for (const int64_t n : {2, 3, 10, 16, 17, 64, 100, 1000, 1024})
        for (const int64_t rows : {1, 3, 70})
          if (rows * n <= kDefaultGrain)
            cases.push_back(
                {s.name, [=] { return Operands{data({rows, n}, dtype), numbers({rows, n}, dtype)}; }, s.call});
      expectOwnLoops(cases, interpretedLoops);
      if (HasFailure()) return;
    }
}

const Softmax kDownColumns[] = {
    {"softmax", [](const Operands& x) { return Results{shunt::_softmax(x[0], 0, false)}; }},
    {"log_softmax", [](const Operands& x) { return Results{shunt::_log_softmax(x[0], -2, false)}; }},
    {"softmax backward",
     [](const Operands& x) { return Results{shunt::_softmax_backward_data(x[0], x[1], 0, x[0].scalar_type())}; }},
    {"log_softmax backward",
     [](const Operands& x) { return Results{shunt::_log_softmax_backward_data(x[0], x[1], -2, x[0].scalar_type())}; }},
};

TEST(ColumnsOfSoftmax, EverySize) {
  for (const Softmax& s : kDownColumns)
    for (const ScalarType dtype : {kFloat, kDouble}) {
      SCOPED_TRACE(testing::Message() << s.name << ' ' << dtype);
      std::vector<LoopCase> cases;
      for (const int64_t n : {2, 10, 256, 257, 500})
        for (const int64_t columns : {8, 9, 64, 65})
          if (n * columns <= kDefaultGrain)
            cases.push_back(
                {s.name, [=] { return Operands{data({n, columns}, dtype), numbers({n, columns}, dtype)}; }, s.call});
      cases.push_back({"few columns", [=] { return Operands{data({9, 7}, dtype), numbers({9, 7}, dtype)}; }, s.call,
                       /*own_loop=*/false});
      expectOwnLoops(cases, interpretedLoops);
      if (HasFailure()) return;
    }
}

// Every call would miss.
TEST(ColumnsOfSoftmax, OfSixteenBitsAreNotExpected) {
  expectOwnLoop({"BFloat16", [] { return Operands{numbers({4, 16}, kBFloat16)}; },
                 [](const Operands& x) { return Results{shunt::_softmax(x[0], 0, false)}; }, /*own_loop=*/false},
                interpretedLoops);
  bool found = false;
  for (const jit::PairStats& p : jit::stats().pairs) {
    if (p.op != "aten::_softmax" || p.keys != "CPU" || p.signature != "BFloat16 contiguous") continue;
    found = true;
    EXPECT_NE(p.plan.find("loop: none seen"), p.plan.npos) << p.plan;
  }
  EXPECT_TRUE(found);
}

struct LayerNorm {
  const char* name;
  ScalarType dtype, parameters;
  bool weight, bias;
};
const LayerNorm kLayerNorms[] = {
    {"both", kFloat, kFloat, true, true},
    {"none", kFloat, kFloat, false, false},
    {"weight", kDouble, kDouble, true, false},
    {"bias", kFloat, kFloat, false, true},
    {"BFloat16", kBFloat16, kBFloat16, true, true},
    {"BFloat16 with Float", kBFloat16, kFloat, true, true},
    {"Half", kHalf, kHalf, true, true},
    {"Half without", kHalf, kHalf, false, false},
};

TEST(RowsOfLayerNorm, EveryDtypeAndLength) {
  for (const LayerNorm& l : kLayerNorms) {
    SCOPED_TRACE(l.name);
    std::vector<LoopCase> forwards, backwards;
    const bool wide = l.dtype == kDouble;
    const int64_t longest = wide ? nn::kLongestNorm<double> : nn::kLongestNorm<float>;
    const int64_t longest_backward = wide ? nn::kLongestNormBackward<double> : nn::kLongestNormBackward<float>;
    for (const int64_t n : {int64_t{2}, int64_t{3}, int64_t{16}, int64_t{17}, int64_t{64}, int64_t{100},
                            longest_backward, longest_backward + 1, longest, longest + 1, int64_t{4096}})
      for (const int64_t rows : {2, 3, 7}) {
        const auto given = [=](bool is, const Tensor& t) { return is ? std::optional<Tensor>(t) : std::nullopt; };
        const auto make = [=] {
          return Operands{data({rows, n}, l.dtype), numbers({n}, l.parameters), numbers({n}, l.parameters),
                          numbers({rows, n}, l.dtype)};
        };
        const auto forward = [=](const Operands& x) {
          return native_layer_norm(x[0], n, given(l.weight, x[1]), given(l.bias, x[2]), 1e-3);
        };
        forwards.push_back({l.name, make,
                            [=](const Operands& x) {
                              const auto [y, mean, rstd] = forward(x);
                              return Results{y, mean, rstd};
                            },
                            n <= longest});
        const auto withStatistics = [=] {
          Operands x = make();
          const auto [y, mean, rstd] = forward(x);
          x.insert(x.end(), {mean, rstd});
          return x;
        };
        backwards.push_back({l.name, withStatistics,
                             [=](const Operands& x) {
                               const auto [dx, dw, db] =
                                   native_layer_norm_backward(x[3], x[0], n, x[4], x[5], given(l.weight, x[1]),
                                                              given(l.bias, x[2]), {true, l.weight, l.bias});
                               Results all{dx};
                               if (l.weight) all.push_back(dw);
                               if (l.bias) all.push_back(db);
                               return all;
                             },
                             n <= longest_backward});
      }
    expectOwnLoops(forwards, interpretedLoops);
    expectOwnLoops(backwards, interpretedLoops);
    if (HasFailure()) return;
  }
}

// Where the interpreter has room, so has the thunk: with rows that its loop takes, and with those that it leaves.
TEST(RowsOfLayerNorm, SmallStack) {
  struct Run {
    std::vector<int64_t> sizes;
    Results got;
    uint64_t loops = 0, calls = 0;
    void run() {
      const Tensor x = numbers(sizes, kDouble), grad = numbers(sizes, kDouble), w = numbers({sizes[1]}, kDouble);
      const Tensor statistic = shunt::ones({sizes[0], 1}, TensorOptions(kDouble));
      const uint64_t loops_before = interpretedLoops(), calls_before = jit::calls_in_thunks();
      const auto [dx, dw, db] =
          native_layer_norm_backward(grad, x, sizes[1], statistic, statistic, w, w, {true, true, true});
      loops = interpretedLoops() - loops_before;
      calls = jit::calls_in_thunks() - calls_before;
      got = {dx, dw, db};
    }
  };
  const auto seeded = [](Run& r) {
    shunt::manual_seed(5);
    r.run();
  };
  for (const int64_t n : {nn::kLongestNormBackward<double>, int64_t{4096}}) {
    Run expected{{2, n}, {}}, compiling{{2, n}, {}}, on_thread{{2, n}, {}};
    jit::set_enabled(false);
    seeded(expected);
    jit::set_enabled(true);
    seeded(compiling);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    ASSERT_EQ(pthread_attr_setstacksize(&attributes, kSmallStack), 0);
    const auto body = [](void* r) -> void* {
      static_cast<Run*>(r)->run();
      return nullptr;
    };
    pthread_t thread;
    shunt::manual_seed(5);
    ASSERT_EQ(pthread_create(&thread, &attributes, body, &on_thread), 0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
    EXPECT_GE(on_thread.calls, 1u);
    EXPECT_EQ(on_thread.loops == 0, n <= nn::kLongestNormBackward<double>);
    expectSame(expected.got, on_thread.got);
  }
}

LoopCase sum(std::vector<int64_t> sizes, std::vector<int64_t> d, std::optional<ScalarType> dtype = std::nullopt) {
  return {"", [=] { return Operands{numbers(sizes)}; },
          [=](const Operands& x) { return Results{x[0].sum(IntArrayRef(d), false, dtype)}; }};
}
LoopCase softmax(std::vector<int64_t> sizes, int64_t d) {
  return {"", [=] { return Operands{numbers(sizes)}; },
          [=](const Operands& x) { return Results{shunt::_softmax(x[0], d, false)}; }};
}

LoopCase largest(std::vector<int64_t> sizes, int64_t d) {
  return {"", [=] { return Operands{numbers(sizes)}; }, [=](const Operands& x) { return both(x[0].max(d, false)); }};
}

const Stranger kStrangers[] = {
    {"other shapes", sum({4, 16}, {1}), sum({2, 3, 5}, {2}), false},
    {"several last dimensions", sum({4, 16}, {1}), sum({2, 3, 5}, {1, 2}), false},
    {"all of them", sum({4, 16}, {1}), sum({2, 3, 5}, {0, 1, 2}), false},
    {"none named", sum({4, 16}, {1}), sum({2, 3, 5}, {}), false},
    {"another dimension", sum({4, 16}, {1}), sum({4, 16}, {0}), true},
    {"the outer two of three", sum({4, 16}, {1}), sum({2, 3, 5}, {0, 1}), true},
    {"rows after columns", sum({4, 16}, {0}), sum({4, 16}, {1}), true},
    {"long columns", sum({4, 16}, {0}), sum({513, 8}, {0}), true},
    {"columns of no elements", sum({4, 16}, {0}), sum({0, 8}, {0}), true},
    {"the outer and the inner", sum({4, 16}, {1}), sum({2, 3, 5}, {0, 2}), true},
    {"rows of one element", sum({4, 16}, {1}), sum({4, 1}, {1}), true},
    {"no elements", sum({4, 16}, {1}), sum({4, 0}, {1}), true},
    {"no rows", sum({4, 16}, {1}), sum({0, 4}, {1}), true},
    {"enough for threads", sum({4, 16}, {1}), sum({40, 1000}, {1}), true},
    {"more than a block", sum({4, 16}, {1}), sum({2, 4097}, {1}), true},
    {"another type of the result", sum({4, 16}, {1}), sum({4, 16}, {1}, kDouble), true},
    {"the largest of other rows", largest({4, 16}, 1), largest({2, 3, 5}, 2), false},
    {"the largest of columns", largest({4, 16}, 1), largest({4, 16}, 0), true},
    {"the largest of long rows", largest({4, 16}, 1), largest({2, 4097}, 1), true},
    {"the largest of single elements", largest({4, 16}, 1), largest({4, 1}, 1), true},
    {"softmax of another shape", softmax({4, 16}, 1), softmax({2, 3, 5}, 2), false},
    {"softmax down columns", softmax({4, 16}, 1), softmax({4, 16}, 0), true},
    {"softmax along rows", softmax({4, 16}, 0), softmax({4, 16}, 1), true},
    {"softmax of long rows", softmax({4, 16}, 1), softmax({2, 1025}, 1), true},
    {"softmax of no elements", softmax({4, 16}, 1), softmax({4, 0}, 1), true},
};

class RowStrangers : public testing::TestWithParam<Stranger> {};

TEST_P(RowStrangers, GetTheInterpretersResult) { expectInterpreter(GetParam(), interpretedLoops); }

INSTANTIATE_TEST_SUITE_P(Rows, RowStrangers, testing::ValuesIn(kStrangers));

TEST(RowsOfReductions, WithGradients) {
  expectOwnLoop({"sum", [] { return Operands{numbers({4, 16}).requires_grad_()}; },
                 [](const Operands& x) { return Results{x[0].sum()}; }},
                interpretedLoops);
  expectOwnLoop({"mean", [] { return Operands{numbers({4, 16}).requires_grad_()}; },
                 [](const Operands& x) { return Results{x[0].mean({-1}, false)}; }},
                interpretedLoops);
}

}  // namespace
}  // namespace diff
