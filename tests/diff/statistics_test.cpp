// Variances, logarithms of sums, norms and scans in thunks: the thunk's own loop ran, along rows and down columns, and
// left what the interpreter leaves, bit for bit; what it doesn't take goes to the interpreter.
#include "kernels/rows/expected.h"
#include "tests/diff/loop_cases.h"

namespace diff {
namespace {

using namespace shunt;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// With special values in short rows, as rows_test.cpp has them.
Tensor data(std::vector<int64_t> sizes, ScalarType dtype) {
  Tensor t = numbers(sizes);
  float* p = static_cast<float*>(t.data_ptr());
  constexpr float kValues[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1e-42f};
  if (sizes.back() <= 30)
    for (int64_t i = 0; i < t.numel(); i += 13) p[i] = kValues[(i / 13) % 6];
  return t.to(dtype);
}

Results both(std::tuple<Tensor, Tensor> found) { return {std::get<0>(found), std::get<1>(found)}; }

struct Statistic {
  const char* name;
  std::function<Results(const Tensor&, int64_t)> along;
  bool integers = false;
};
const Statistic kStatistics[] = {
    {"var", [](const Tensor& t, int64_t d) { return Results{t.var({d}, std::optional<int64_t>(1), false)}; }},
    {"std", [](const Tensor& t, int64_t d) { return Results{t.std({d}, std::optional<int64_t>(0), true)}; }},
    {"var_mean", [](const Tensor& t, int64_t d) { return both(var_mean(t, {d}, std::optional<int64_t>(2))); }},
    {"std_mean", [](const Tensor& t, int64_t d) { return both(std_mean(t, {d}, std::optional<int64_t>(1))); }},
    {"logsumexp", [](const Tensor& t, int64_t d) { return Results{t.logsumexp({d})}; }},
    {"norm 0", [](const Tensor& t, int64_t d) { return Results{linalg_vector_norm(t, 0, {d})}; }},
    {"norm 1", [](const Tensor& t, int64_t d) { return Results{linalg_vector_norm(t, 1, {d})}; }},
    {"norm 2", [](const Tensor& t, int64_t d) { return Results{t.norm(2, {d})}; }},
    {"norm 3.5", [](const Tensor& t, int64_t d) { return Results{linalg_vector_norm(t, 3.5, {d})}; }},
    {"norm inf", [](const Tensor& t, int64_t d) { return Results{linalg_vector_norm(t, kInfinity, {d})}; }},
    {"norm -inf", [](const Tensor& t, int64_t d) { return Results{linalg_vector_norm(t, -kInfinity, {d})}; }},
    {"cumsum", [](const Tensor& t, int64_t d) { return Results{t.cumsum(d)}; }, true},
    {"cumprod", [](const Tensor& t, int64_t d) { return Results{t.cumprod(d)}; }, true},
};

uint64_t interpretedLoops() { return rows::interpretedCalls(); }

class Statistics : public testing::TestWithParam<Statistic> {};

TEST_P(Statistics, AlongRows) {
  const Statistic& s = GetParam();
  for (const ScalarType dtype : {kFloat, kDouble, kBFloat16, kHalf, kLong}) {
    if (dtype == kLong && !s.integers) continue;
    SCOPED_TRACE(dtype);
    std::vector<LoopCase> cases;
    for (const int64_t n : {2, 15, 17, 64, 65, 255, 257, 1000, 4096})
      cases.push_back(
          {s.name, [=] { return Operands{data({3, n}, dtype)}; }, [&](const Operands& x) { return s.along(x[0], 1); }});
    jit::clear();  // what another order left is another record's
    expectOwnLoops(cases, interpretedLoops);
    if (HasFailure()) return;
  }
}

TEST_P(Statistics, DownColumns) {
  const Statistic& s = GetParam();
  for (const ScalarType dtype : {kFloat, kDouble, kBFloat16}) {
    SCOPED_TRACE(dtype);
    std::vector<LoopCase> cases;
    const auto add = [&](std::vector<int64_t> sizes, int64_t d, bool own_loop = true) {
      cases.push_back({s.name, [=] { return Operands{data(sizes, dtype)}; },
                       [&s, d](const Operands& x) { return s.along(x[0], d); }, own_loop});
    };
    for (const int64_t n : {2, 9, 64, 257, 512})
      for (const int64_t columns : {8, 9, 33})
        if (n * columns <= kDefaultGrain) add({n, columns}, 0);
    add({2, 30, 9}, 1);
    add({4, 300}, 0);
    add({20, 7}, 0, false);
    jit::clear();
    expectOwnLoops(cases, interpretedLoops);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, Statistics, testing::ValuesIn(kStatistics), [](const auto& info) {
  std::string name;
  for (const char c : std::string(info.param.name)) name += c == '-' ? 'm' : std::isalnum(c) ? c : '_';
  return name;
});

LoopCase norm(double p) {
  return {"", [] { return Operands{numbers({4, 16})}; },
          [=](const Operands& x) { return Results{linalg_vector_norm(x[0], p, {1})}; }};
}
LoopCase variance(int64_t correction) {
  return {"", [] { return Operands{numbers({4, 16})}; },
          [=](const Operands& x) { return Results{x[0].var({1}, std::optional<int64_t>(correction))}; }};
}

// One pair, whose kernel is chosen by a number: the guard compares which it is, or the loop takes the number.
const Stranger kStrangers[] = {
    {"another accumulator", norm(2), norm(1), true},
    {"a power, of the square", norm(2), norm(3), true},
    {"another power", norm(3), norm(2.5), false},
    {"another correction", variance(1), variance(3), false},
};

class StatisticStrangers : public testing::TestWithParam<Stranger> {};

TEST_P(StatisticStrangers, GetTheInterpretersResult) { expectInterpreter(GetParam(), interpretedLoops); }

INSTANTIATE_TEST_SUITE_P(Rows, StatisticStrangers, testing::ValuesIn(kStrangers));

}  // namespace
}  // namespace diff
