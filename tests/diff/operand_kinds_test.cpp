// Thunks that meet operands of several kinds: after a miss the pair is compiled once more, and its thunk has a loop for
// each kind, up to four. Shown by counters (calls in thunks, misses, the interpreter's own loops), with results
// compared bit for bit; and thunks that nearly all calls miss are retired.
#include "kernels/pointwise/run.h"
#include "kernels/rows/expected.h"
#include "tests/diff/loop_cases.h"
#include "tests/support/same_bits.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <thread>

namespace diff {
namespace {

using namespace shunt;
using testing::HasSubstr;

uint64_t interpretedLoops() {
  return elementwise::pathCounters().fast + elementwise::pathCounters().planned + rows::interpretedCalls();
}

/// Of all pairs of the operator.
jit::PairStats totalOf(const char* op) {
  jit::PairStats total;
  for (const jit::PairStats& p : jit::stats().pairs) {
    if (p.op != op) continue;
    total.in_thunks += p.in_thunks;
    total.guard_misses += p.guard_misses;
    if (p.state == jit::PairState::kCompiled) total.kinds = std::max(total.kinds, p.kinds);
    total.compiles += p.compiles;
    total.plan += p.plan;
  }
  return total;
}

struct Kinds {
  const char* what;
  const char* op;
  std::vector<LoopCase> cases;
};
void PrintTo(const Kinds& k, std::ostream* out) { *out << k.what; }

Tensor transposed(std::vector<int64_t> sizes) {
  std::swap(sizes[0], sizes[1]);
  return numbers(sizes).transpose(0, 1);
}
Tensor everySecond(std::vector<int64_t> sizes) {
  return numbers({sizes[0], 2 * sizes[1] + 3}).slice(1, 0, 2 * sizes[1], 2);
}
/// Of a wider tensor, so that rows don't follow one another.
Tensor narrowed(std::vector<int64_t> sizes) { return numbers({sizes[0], sizes[1] + 4}).narrow(1, 2, sizes[1]); }

LoopCase multiply(const char* what, std::function<Tensor()> a, std::function<Tensor()> b) {
  return {what, [=] { return Operands{a(), b()}; }, [](const Operands& x) { return Results{x[0].mul(x[1])}; }};
}
std::function<Tensor()> of(std::vector<int64_t> sizes, ScalarType dtype = kFloat) {
  return [=] { return numbers(sizes, dtype); };
}
LoopCase power(const char* what, double exponent) {
  return {what, [] { return Operands{numbers({5, 16})}; },
          [=](const Operands& x) { return Results{x[0].pow(exponent)}; }};
}
LoopCase sum(const char* what, std::vector<int64_t> sizes, std::vector<int64_t> dims) {
  return {what, [=] { return Operands{numbers(sizes)}; }, [=](const Operands& x) { return Results{x[0].sum(dims)}; }};
}
LoopCase inDim(const char* what, int64_t dim, Tensor (*f)(const Tensor&, int64_t)) {
  return {what, [] { return Operands{numbers({16, 32})}; }, [=](const Operands& x) { return Results{f(x[0], dim)}; }};
}
Tensor softmaxOf(const Tensor& t, int64_t dim) { return shunt::softmax(t, dim); }
Tensor argmaxOf(const Tensor& t, int64_t dim) { return t.argmax(dim); }
LoopCase addInto(const char* what, std::function<Tensor()> b) {
  return {what, [=] { return Operands{numbers({16, 32}), b()}; },
          [](const Operands& x) { return Results{x[0].add_(x[1], 3)}; }};
}
LoopCase addOut(const char* what, std::function<Tensor()> b) {
  return {what, [=] { return Operands{numbers({16, 32}), b(), shunt::empty({16, 32}, kFloat)}; },
          [](const Operands& x) { return Results{shunt::add_out(const_cast<Tensor&>(x[2]), x[0], x[1])}; }};
}

const Kinds kSeveral[] = {
    {"same shape, column",
     "aten::mul.Tensor",
     {multiply("same", of({16, 32}), of({16, 32})), multiply("column", of({16, 32}), of({16, 1}))}},
    {"column, same shape, and the first one the column",
     "aten::mul.Tensor",
     {multiply("column", of({16, 32}), of({16, 1})), multiply("same", of({16, 32}), of({16, 32})),
      multiply("column first", of({16, 1}), of({16, 32}))}},
    {"dense, column, a middle dimension, both broadcast",
     "aten::mul.Tensor",
     {multiply("same", of({16, 32}), of({16, 32})), multiply("column", of({16, 32}), of({16, 1})),
      multiply("middle", of({4, 5, 16}), of({4, 1, 16})), multiply("both", of({5, 1}), of({16}))}},
    {"strided, strided otherwise, gathered",
     "aten::mul.Tensor",
     {multiply(
          "transposed", [] { return transposed({16, 32}); }, [] { return transposed({16, 32}); }),
      multiply(
          "narrowed and transposed", [] { return narrowed({16, 32}); }, [] { return transposed({16, 32}); }),
      multiply(
          "gathered", [] { return everySecond({16, 32}); }, [] { return transposed({16, 32}); })}},
    {"0-dim tensors and single elements of another dtype",
     "aten::mul.Tensor",
     {multiply("0-dim", of({5, 16}), of({}, kDouble)), multiply("of one dimension", of({5, 16}), of({1}, kDouble))}},
    {"other powers",
     "aten::pow.Tensor_Scalar",
     {power("square", 2), power("cube", 3), power("root", 0.5), power("any", 1.7)}},
    {"rows and columns",
     "aten::sum.dim_IntList",
     {sum("rows", {16, 32}, {1}), sum("columns", {16, 32}, {0}), sum("rows again", {7, 100}, {1}),
      sum("middle columns", {3, 9, 16}, {1})}},
    {"softmax", "aten::_softmax", {inDim("rows", 1, softmaxOf), inDim("columns", 0, softmaxOf)}},
    {"argmax", "aten::argmax", {inDim("rows", 1, argmaxOf), inDim("columns", 0, argmaxOf)}},
    {"in place",
     "aten::add_.Tensor",
     {addInto("same", of({16, 32})), addInto("row", of({32})), addInto("column", of({16, 1}))}},
    {"out=", "aten::add.out", {addOut("same", of({16, 32})), addOut("column", of({16, 1}))}},
};

class Several : public testing::TestWithParam<Kinds> {};
INSTANTIATE_TEST_SUITE_P(OperandKinds, Several, testing::ValuesIn(kSeveral));

// In turns: each kind misses at most once, and from then on its own loop runs.
TEST_P(Several, HaveALoopEach) {
  const Kinds& kinds = GetParam();
  std::vector<Results> expected;
  for (const LoopCase& c : kinds.cases) expected.push_back(interpreted(c));
  jit::clear();
  for (const LoopCase& c : kinds.cases) c.call(made(c));
  const jit::PairStats before = totalOf(kinds.op);
  EXPECT_GE(before.kinds, 2) << before.plan;
  for (int round = 0; round < 3; ++round)
    for (size_t i = 0; i < kinds.cases.size(); ++i) {
      SCOPED_TRACE(kinds.cases[i].what);
      const Operands operands = made(kinds.cases[i]);
      const uint64_t loops = interpretedLoops(), calls = jit::calls_in_thunks();
      const Results got = kinds.cases[i].call(operands);
      EXPECT_GT(jit::calls_in_thunks(), calls);
      EXPECT_EQ(interpretedLoops(), loops) << "it missed: " << totalOf(kinds.op).plan;
      expectSame(expected[i], got);
    }
  EXPECT_EQ(totalOf(kinds.op).guard_misses, before.guard_misses);
  EXPECT_EQ(totalOf(kinds.op).compiles, before.compiles) << "nothing more is compiled";
}

// A pair that became hot with operands that no guard expects gets a loop when it is called with others.
TEST(OperandKinds, HaveALoopAlsoAfterOperandsThatNoGuardExpects) {
  const LoopCase none = multiply("short rows", of({4, 4}), of({4, 1})),
                 same = multiply("same", of({16, 32}), of({16, 32}));
  const Results expected = interpreted(same), expected_of_none = interpreted(none);
  jit::clear();
  none.call(made(none));
  EXPECT_EQ(totalOf("aten::mul.Tensor").kinds, 0);
  for (int i = 0; i < 40; ++i) expectSame(expected_of_none, none.call(made(none)));
  for (int i = 0; i < 80; ++i) expectSame(expected, same.call(made(same)));
  EXPECT_EQ(totalOf("aten::mul.Tensor").kinds, 1);
  const Operands operands = made(same);
  const uint64_t loops = interpretedLoops();
  const Results got = same.call(operands);
  EXPECT_EQ(interpretedLoops(), loops);
  expectSame(expected, got);
  expectSame(expected_of_none, none.call(made(none)));
}

// A fifth kind has no place: the four keep theirs, and the fifth is interpreted, correctly.
TEST(OperandKinds, AreFourAtMost) {
  const std::vector<LoopCase> cases = {power("square", 2), power("cube", 3), power("root", 0.5), power("any", 1.7),
                                       power("reciprocal", -1)};
  std::vector<Results> expected;
  for (const LoopCase& c : cases) expected.push_back(interpreted(c));
  jit::clear();
  for (const LoopCase& c : cases) c.call(made(c));
  EXPECT_EQ(totalOf("aten::pow.Tensor_Scalar").kinds, 4);
  const jit::PairStats before = totalOf("aten::pow.Tensor_Scalar");
  for (int round = 0; round < 10; ++round)
    for (size_t i = 0; i < cases.size(); ++i) {
      SCOPED_TRACE(cases[i].what);
      const Operands operands = made(cases[i]);
      const uint64_t loops = interpretedLoops();
      const Results got = cases[i].call(operands);
      EXPECT_EQ(interpretedLoops() == loops, i < 4);
      expectSame(expected[i], got);
    }
  const jit::PairStats after = totalOf("aten::pow.Tensor_Scalar");
  EXPECT_EQ(after.guard_misses, before.guard_misses + 10);
  EXPECT_EQ(after.compiles, before.compiles);
}

TEST(OperandKinds, StandInThePlanAndInTheTables) {
  jit::clear();
  const Tensor x = numbers({16, 32});
  shunt::mul(x, x);
  shunt::mul(x, numbers({16, 1}));
  const jit::Stats stats = jit::stats();
  const auto row =
      std::ranges::find_if(stats.pairs, [](const auto& p) { return p.op == "aten::mul.Tensor" && p.kinds; });
  ASSERT_NE(row, stats.pairs.end());
  EXPECT_EQ(row->kinds, 2);
  EXPECT_THAT(row->plan, HasSubstr("  loop: functional elementwise, common dtype Float; input 0: same shape Float; "
                                   "input 1: same shape Float" +
                                   std::string(endOfMadeWithAvx512())));
  EXPECT_THAT(row->plan, HasSubstr("  or: functional elementwise, common dtype Float; input 0: same shape Float; "
                                   "input 1: column Float" +
                                   std::string(endOfCalled())));
  EXPECT_THAT(jit::statsTable(stats), HasSubstr("kinds"));
  EXPECT_EQ(jit::statsFromJson(jit::statsJson(stats)).pairs[0].kinds, stats.pairs[0].kinds);
}

// What a miss's record follows from is an edge of the new thunk, as with the record that the first thunk is made of.
TEST(OperandKinds, RelyOnTheSettingsThatDecideThem) {
  jit::clear();
  const Tensor x = numbers({5, 16}, kLong);
  const auto byHalf = [&] { return x.mul(2.5); };
  x.mul(3);
  const size_t earlier = jit::invalidation_log().size();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(byHalf().scalar_type(), kFloat);
  const uint64_t loops = interpretedLoops();
  EXPECT_EQ(byHalf().scalar_type(), kFloat);
  EXPECT_EQ(interpretedLoops(), loops) << "there is no loop for the kind";
  set_default_dtype(kDouble);
  EXPECT_EQ(byHalf().scalar_type(), kDouble);
  set_default_dtype(kFloat);
  EXPECT_EQ(byHalf().scalar_type(), kFloat);
  bool found = false;
  for (const auto& r : logSince(earlier)) found |= r.cause.find("default_dtype") != std::string::npos;
  EXPECT_TRUE(found);
}

// The guard expects rows that are worth a loop; a pair that is called with single elements only, after it was compiled
// for such rows, is given back to the interpreter.
TEST(Useless, ThunksAreRetired) {
  jit::clear();
  const Tensor rows = numbers({16, 32}), single = numbers({16, 1});
  const auto sumOf = [](const Tensor& t) { return t.sum({1}, false); };
  sumOf(rows);
  const size_t earlier = jit::invalidation_log().size();
  int calls = 0;
  for (; logSince(earlier).empty() && calls < 200; ++calls) expectSame(sumOf(single), single.squeeze(1));
  ASSERT_EQ(logSince(earlier).size(), 1u);
  EXPECT_THAT(logSince(earlier)[0].cause, HasSubstr("nearly all calls met operands that it doesn't expect"));
  EXPECT_GE(calls, 32) << "so few say nothing";
  const uint64_t in_thunks = jit::calls_in_thunks();
  for (int i = 0; i < 8; ++i) sumOf(single);
  EXPECT_EQ(jit::calls_in_thunks(), in_thunks) << "it was asked for again at once";
  std::string reasons;
  for (const jit::PairStats& p : jit::stats().pairs)
    if (p.op == "aten::sum.dim_IntList") reasons += p.reason;
  EXPECT_THAT(reasons, HasSubstr("nearly all calls met"));
  for (int i = 0; i < 64; ++i) sumOf(rows);
  EXPECT_GT(jit::calls_in_thunks(), in_thunks) << "it is never asked for again";
}

TEST(Useless, ThunksThatHitStay) {
  jit::clear();
  const Tensor rows = numbers({16, 32}), single = numbers({16, 1});
  for (int i = 0; i < 300; ++i) rows.sum({1}, false);
  const size_t earlier = jit::invalidation_log().size();
  for (int i = 0; i < 300; ++i) (i % 4 == 0 ? rows : single).sum({1}, false);
  EXPECT_TRUE(logSince(earlier).empty()) << "a quarter of the calls hit";
}

// The record, the counts and the compile are each thread's own business; what the threads share is the pair and its
// thunk, which another thread keeps taking away.
TEST(OperandKinds, MissOnThreadsAtOnce) {
  const std::vector<LoopCase> cases = {
      multiply("same", of({16, 32}), of({16, 32})), multiply("column", of({16, 32}), of({16, 1})),
      multiply("row", of({16, 32}), of({32})), multiply("middle", of({4, 5, 16}), of({4, 1, 16})),
      multiply("short rows, which nothing expects", of({4, 4}), of({4, 1}))};
  std::vector<Results> expected;
  std::vector<Operands> operands;
  for (const LoopCase& c : cases) {
    expected.push_back(interpreted(c));
    operands.push_back(made(c));
  }
  jit::clear();
  std::atomic<bool> done{false};
  std::atomic<int> wrong{0}, rounds{0};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      for (size_t i = t; !done.load(); i = (i + 1) % cases.size(), ++rounds) {
        const Tensor got = cases[i].call(operands[i])[0];
        wrong += !shunt::test::differenceOf(expected[i][0], got).empty();
      }
    });
  for (int i = 0; i < 20; ++i) {
    const int before = rounds;
    while (rounds < before + 50) std::this_thread::yield();
    if (i % 2 == 0) {
      jit::clear();
    } else {
      set_default_dtype(kDouble);
      set_default_dtype(kFloat);
    }
  }
  done = true;
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  jit::clear();  // the next record of a pair that has missed often is far off
  for (int i = 0; i < 100; ++i)
    for (size_t k = 0; k < cases.size(); ++k) cases[k].call(operands[k]);
  EXPECT_EQ(totalOf("aten::mul.Tensor").kinds, 4) << "all but the one that nothing expects";
}

// A network with a normalisation written out: products of equal shapes, with columns and with rows, forward and
// backward, with and without grad.
TEST(OperandKinds, OfATrainedNetworkStopMissing) {
  jit::clear();
  manual_seed(3);
  const auto parameter = [](std::vector<int64_t> sizes) { return numbers(sizes).mul(0.02).detach().requires_grad_(); };
  std::vector<Tensor> p{parameter({32, 24}), parameter({32}), parameter({32}), parameter({32}), parameter({8, 32})};
  const Tensor x = numbers({16, 24}), y = shunt::randint(8, {16});
  const auto normalised = [&](const Tensor& h) {
    const Tensor centred = h.sub(h.mean({-1}, true));
    const Tensor variance = centred.mul(centred).mean({-1}, true);
    return centred.mul(variance.add(1e-5).rsqrt()).mul(p[2]).add(p[3]);
  };
  const auto forward = [&] { return shunt::linear(normalised(shunt::linear(x, p[0], p[1]).relu()), p[4]); };
  const auto step = [&] {
    shunt::nll_loss(shunt::log_softmax(forward(), 1), y).backward();
    NoGradGuard no_grad;
    for (Tensor& t : p) {
      t.add_(t.grad(), -0.05);
      t.mutable_grad() = Tensor();
    }
    forward().argmax(1);
  };
  uint64_t calls = 0, misses = 0;
  const auto count = [&](uint64_t sign) {
    for (const jit::PairStats& pair : jit::stats().pairs) {
      calls += sign * (pair.in_thunks + pair.interpreted);
      misses += sign * pair.guard_misses;
    }
  };
  for (int i = 0; i < 10; ++i) step();
  count(~uint64_t{0});
  const uint64_t in_thunks = jit::calls_in_thunks();
  for (int i = 0; i < 40; ++i) step();
  const double ran_in_thunks = static_cast<double>(jit::calls_in_thunks() - in_thunks);
  count(1);
  ASSERT_GT(calls, 1000u);
  EXPECT_LE(misses * 200, calls) << jit::statsTable();
  EXPECT_GE(ran_in_thunks, 0.95 * static_cast<double>(calls)) << jit::statsTable();
}

}  // namespace
}  // namespace diff
