// Elementwise operators on operands that are not dense tensors of one shape: the thunk's own loop ran (no counter of
// the interpreter's paths moved), and left what the interpreter leaves, bit for bit, with the same strides. And a thunk
// that meets operands of its pair in other shapes than it expects hands them to the interpreter.
#include "kernels/pointwise/run.h"
#include "tests/diff/loop_cases.h"

#include <gmock/gmock.h>

namespace diff {
namespace {

using namespace shunt;

Tensor transposed(std::vector<int64_t> sizes, ScalarType dtype = kFloat) {
  std::swap(sizes[0], sizes[1]);
  return numbers(sizes, dtype).transpose(0, 1);
}
/// Rows of a wider tensor.
Tensor columns(std::vector<int64_t> sizes, ScalarType dtype = kFloat) {
  return numbers({sizes[0], sizes[1] + 4}, dtype).narrow(1, 2, sizes[1]);
}
/// Of rows that are longer than that, so that they don't make one line.
Tensor everySecond(std::vector<int64_t> sizes, ScalarType dtype = kFloat) {
  return numbers({sizes[0], 2 * sizes[1] + 3}, dtype).slice(1, 0, 2 * sizes[1], 2);
}

Tensor everyThird(ScalarType dtype) { return numbers({1800}, dtype).slice(0, 0, 1800, 3); }

Results add(const Operands& x) { return {x[0].add(x[1], 2)}; }
Results mul(const Operands& x) { return {x[0].mul(x[1])}; }
Results addInPlace(const Operands& x) { return {x[0].add_(x[1])}; }
Results addOut(const Operands& x) { return {shunt::add_out(const_cast<Tensor&>(x[2]), x[0], x[1])}; }
Results addcmul(const Operands& x) { return {shunt::addcmul(x[0], x[1], x[2], 3)}; }
Tensor masked(std::vector<int64_t> sizes) { return numbers(std::move(sizes)).gt(0); }
Operands permuted(Operands operands) {
  for (Tensor& t : operands) t = t.permute({2, 0, 1});
  return operands;
}
/// Views, as permuted tensors are.
Operands viewed(Operands operands) {
  for (Tensor& t : operands) t = t.view(t.sizes());
  return operands;
}
Results where(const Operands& x) { return {shunt::where(x[0], x[1], x[2])}; }
Results maskedFill(const Operands& x) { return {shunt::masked_fill(x[0], x[1], 2)}; }
Results relu(const Operands& x) { return {x[0].relu()}; }
Results exp(const Operands& x) { return {x[0].exp()}; }
Results sin(const Operands& x) { return {x[0].sin()}; }
/// Several blocks of the loop that computes them; in the second one's, an angle that its fast half can't take.
Tensor angles(ScalarType dtype) {
  Tensor t = numbers({1031}, dtype);
  t.select(0, 300).fill_(3e9);
  return t;
}

const LoopCase kSpecialised[] = {
    {"a row for each row", [] { return Operands{numbers({5, 16}), numbers({16})}; }, add},
    {"a row first", [] { return Operands{numbers({16}), numbers({5, 16})}; }, add},
    {"a row of BFloat16", [] { return Operands{numbers({5, 19}, kBFloat16), numbers({19}, kBFloat16)}; }, add},
    {"a column for each column", [] { return Operands{numbers({5, 16}), numbers({5, 1})}; }, add},
    {"a column first", [] { return Operands{numbers({5, 1}, kInt), numbers({5, 19})}; }, mul},
    {"a column of BFloat16", [] { return Operands{numbers({5, 1}, kBFloat16), numbers({5, 19}, kBFloat16)}; }, add},
    {"a column of three dimensions", [] { return Operands{numbers({3, 4, 16}), numbers({3, 4, 1})}; }, mul},
    {"a column and a row", [] { return Operands{numbers({6, 16}), numbers({6, 1}), numbers({16})}; }, addcmul},
    {"a column, in place", [] { return Operands{numbers({5, 16}), numbers({5, 1})}; }, addInPlace},
    {"a column, out=", [] { return Operands{numbers({5, 16}), numbers({5, 1}), shunt::empty({5, 16}, kFloat)}; },
     addOut},
    {"short rows beside a column", [] { return Operands{numbers({5, 7}), numbers({5, 1})}; }, add, false},
    {"a row with dimensions of one", [] { return Operands{numbers({5, 16}), numbers({1, 16})}; }, mul},
    {"a row with dimensions of one, first", [] { return Operands{numbers({1, 16}), numbers({5, 16})}; }, add},
    {"a matrix with dimensions of one", [] { return Operands{numbers({2, 3, 4, 8}), numbers({1, 1, 4, 8})}; }, add},
    {"both broadcast", [] { return Operands{numbers({5, 1}), numbers({16})}; }, mul},
    {"a middle dimension", [] { return Operands{numbers({4, 5, 16}), numbers({4, 1, 16})}; }, add},
    {"two middle dimensions", [] { return Operands{numbers({2, 3, 4, 8}), numbers({2, 1, 4, 1})}; }, add},
    {"0-dim tensors", [] { return Operands{numbers({}), numbers({})}; }, mul},
    {"0-dim tensors of two dtypes", [] { return Operands{numbers({}, kInt), numbers({}, kDouble)}; }, mul},
    {"0-dim tensors, in place", [] { return Operands{numbers({}), numbers({})}; }, addInPlace},
    {"one element each", [] { return Operands{numbers({1}), numbers({1})}; }, mul},
    {"one element each, of other dimensions", [] { return Operands{numbers({1}), numbers({1, 1})}; }, add},
    {"a 0-dim tensor of a wider dtype", [] { return Operands{numbers({5, 16}), numbers({}, kDouble)}; }, mul},
    {"a 0-dim tensor of a higher category", [] { return Operands{numbers({5, 16}, kLong), numbers({})}; }, mul},
    {"a 0-dim tensor of a lower category", [] { return Operands{numbers({5, 16}), numbers({}, kInt)}; }, mul},
    {"a floating-point number beside integers", [] { return Operands{numbers({5, 16}, kLong)}; },
     [](const Operands& x) -> Results { return {x[0].mul(2.5)}; }},
    {"an integer number beside bools", [] { return Operands{numbers({5, 16}, kBool)}; },
     [](const Operands& x) -> Results { return {x[0].add(3, 2)}; }},
    {"a square", [] { return Operands{numbers({5, 16})}; }, [](const Operands& x) -> Results { return {x[0].pow(2)}; }},
    {"views of one storage",
     [] {
       const Tensor t = numbers({2, 5, 16});
       return Operands{t.select(0, 0), t.select(0, 1)};
     },
     addInPlace},
    {"views of the same elements",
     [] {
       const Tensor t = numbers({5, 16});
       return Operands{t, t.view({5, 16})};
     },
     addInPlace},
    {"strided views of one storage",
     [] {
       const Tensor t = numbers({12, 22});
       return Operands{t.narrow(0, 0, 6).narrow(1, 0, 20), t.narrow(0, 6, 6).narrow(1, 0, 20)};
     },
     addInPlace},
    {"a row of another dtype", [] { return Operands{numbers({5, 19}), numbers({19}, kInt)}; }, mul},
    {"a matrix for each matrix", [] { return Operands{numbers({3, 4, 8}), numbers({4, 8})}; }, mul},
    {"rows of two operands of three", [] { return Operands{numbers({8}), numbers({6, 8}), numbers({8})}; }, addcmul},
    {"a row, in place", [] { return Operands{numbers({5, 16}), numbers({16})}; }, addInPlace},
    {"a row, out=", [] { return Operands{numbers({5, 16}), numbers({16}), shunt::empty({5, 16}, kFloat)}; }, addOut},
    {"a row of a tensor that requires grad", [] { return Operands{numbers({5, 16}).requires_grad_(), numbers({16})}; },
     mul},
    {"one element with dimensions", [] { return Operands{numbers({5, 16}), numbers({1, 1})}; }, mul},
    {"one element of another dtype", [] { return Operands{numbers({5, 16}, kLong), numbers({1})}; }, mul},
    {"both transposed", [] { return Operands{transposed({9, 16}), transposed({9, 16})}; }, add},
    {"one transposed", [] { return Operands{numbers({9, 16}), transposed({9, 16})}; }, add},
    {"transposed, Half and Float", [] { return Operands{transposed({9, 16}, kHalf), numbers({9, 16})}; }, mul},
    {"transposed, Int and Double", [] { return Operands{transposed({9, 16}, kInt), transposed({9, 16}, kDouble)}; },
     mul},
    {"transposed with a row", [] { return Operands{transposed({9, 16}), numbers({16})}; }, add},
    {"columns of wider ones", [] { return Operands{columns({6, 20}), columns({6, 20})}; }, add},
    {"angles, one of them large", [] { return Operands{angles(kFloat)}; }, sin},
    {"angles of Double, one of them large", [] { return Operands{angles(kDouble)}; }, sin},
    {"columns with a column", [] { return Operands{columns({6, 20}), numbers({6, 1})}; }, mul},
    {"every second element", [] { return Operands{numbers({6, 20}), everySecond({6, 20})}; }, add},
    {"every second one of Bool", [] { return Operands{numbers({6, 20}), everySecond({6, 20}, kBool)}; }, mul},
    {"an expanded row", [] { return Operands{numbers({6, 20}), numbers({20}).expand({6, 20})}; }, add},
    {"an expanded column", [] { return Operands{numbers({6, 20}), numbers({6, 1}).expand({6, 20})}; }, add},
    {"strided with a 0-dim tensor", [] { return Operands{everySecond({6, 20}), numbers({})}; }, mul},
    {"a strided line", [] { return Operands{numbers({40}).slice(0, 0, 40, 2)}; }, exp},
    {"one operand, transposed", [] { return Operands{transposed({9, 16}, kBFloat16)}; }, relu},
    {"one operand, transposed, promoted", [] { return Operands{transposed({9, 16}, kInt)}; }, exp},
    {"three dimensions, the outer ones swapped", [] { return Operands{transposed({3, 4, 12}), numbers({3, 4, 12})}; },
     add},
    {"strided, in place", [] { return Operands{columns({6, 20}), numbers({6, 20})}; }, addInPlace},
    {"strided inputs, out=",
     [] { return Operands{transposed({9, 16}), numbers({9, 16}), shunt::empty({9, 16}, kFloat)}; }, addOut},
    {"several chunks of strided rows", [] { return Operands{everySecond({3, 700}), everySecond({3, 700}, kDouble)}; },
     mul},
    {"every third element of three operands",
     [] { return Operands{everyThird(kFloat), everyThird(kFloat), everyThird(kInt)}; }, addcmul},
    {"every second element, in place", [] { return Operands{everySecond({6, 300}), numbers({6, 300})}; }, addInPlace},
    {"out= of every second element", [] { return Operands{numbers({6, 20}), numbers({20}), everySecond({6, 20})}; },
     addOut},
    {"out= of every second element of BFloat16",
     [] {
       return Operands{everySecond({6, 20}, kBFloat16), numbers({6, 20}, kBFloat16), everySecond({6, 20}, kBFloat16)};
     },
     addOut},
    {"short strided rows", [] { return Operands{numbers({6, 7}), everySecond({6, 7})}; }, add, false},
    {"strided out=", [] { return Operands{numbers({6, 20}), numbers({6, 20}), columns({6, 20})}; }, addOut},
    {"transposed, requires grad", [] { return Operands{transposed({9, 16}).requires_grad_(), numbers({9, 16})}; }, mul},
};

uint64_t interpretedLoops() { return elementwise::pathCounters().fast + elementwise::pathCounters().planned; }

class Layouts : public testing::TestWithParam<LoopCase> {};

TEST_P(Layouts, RunTheThunksOwnLoop) { expectOwnLoop(GetParam(), interpretedLoops); }

INSTANTIATE_TEST_SUITE_P(Elementwise, Layouts, testing::ValuesIn(kSpecialised));

const Stranger kStrangers[] = {
    {"same shapes after rows",
     {"", [] { return Operands{numbers({5, 16}), numbers({16})}; }, add},
     {"", [] { return Operands{numbers({3, 7}), numbers({3, 7})}; }, add},
     true},
    {"rows after same shapes",
     {"", [] { return Operands{numbers({3, 7}), numbers({3, 7})}; }, add},
     {"", [] { return Operands{numbers({16}), numbers({5, 16})}; }, add},
     true},
    {"a column after rows",
     {"", [] { return Operands{numbers({5, 16}), numbers({16})}; }, add},
     {"", [] { return Operands{numbers({5, 16}), numbers({5, 1})}; }, add},
     true},
    {"same shapes after a column",
     {"", [] { return Operands{numbers({5, 16}), numbers({5, 1})}; }, add},
     {"", [] { return Operands{numbers({5, 16}), numbers({5, 16})}; }, add},
     true},
    {"a column of fewer dimensions",
     {"", [] { return Operands{numbers({5, 16}), numbers({5, 1})}; }, add},
     {"", [] { return Operands{numbers({3, 5, 16}), numbers({5, 1})}; }, add},
     true},
    {"rows on both sides",
     {"", [] { return Operands{numbers({5, 16}), numbers({16})}; }, add},
     {"", [] { return Operands{numbers({5, 1}), numbers({16})}; }, add},
     true},
    {"rows of different lengths",
     {"", [] { return Operands{numbers({6, 8}), numbers({8}), numbers({8})}; }, addcmul},
     {"", [] { return Operands{numbers({2, 6, 8}), numbers({8}), numbers({6, 8})}; }, addcmul},
     true},
    {"a 0-dim tensor after one element with dimensions",
     {"", [] { return Operands{numbers({5, 16}, kInt), numbers({1})}; }, mul},
     {"", [] { return Operands{numbers({5, 16}, kInt), numbers({})}; }, mul},
     true},
    {"one element of more dimensions",
     {"", [] { return Operands{numbers({16}), numbers({1})}; }, mul},
     {"", [] { return Operands{numbers({16}), numbers({1, 1})}; }, mul},
     true},
    {"other inner strides",
     {"", [] { return Operands{transposed({9, 16}), transposed({9, 16})}; }, add},
     {"", [] { return Operands{transposed({9, 16}), everySecond({9, 16})}; }, add},
     true},
    {"inner strides that need no gathering",
     {"", [] { return Operands{everySecond({9, 16}), numbers({9, 16})}; }, add},
     {"", [] { return Operands{numbers({9}).view({9, 1}).expand({9, 16}), numbers({9, 16})}; }, add},
     false},
    {"another strided out=",
     {"", [] { return Operands{numbers({6, 20}), numbers({6, 20}), everySecond({6, 20})}; }, addOut},
     {"", [] { return Operands{numbers({6, 20}), numbers({6, 20}), transposed({6, 20})}; }, addOut},
     true},
    {"short rows of strided operands",
     {"", [] { return Operands{columns({9, 16}), numbers({9, 16})}; }, add},
     {"", [] { return Operands{columns({9, 3}), numbers({9, 3})}; }, add},
     true},
    {"a 0-dim tensor that is a number",
     {"", [] { return Operands{numbers({5, 16}, kLong), numbers({}, kDouble)}; }, mul},
     {"",
      [] {
        Tensor number = numbers({}, kDouble);
        number.unsafeGetTensorImpl()->set_wrapped_number(true);
        return Operands{numbers({5, 16}, kLong), number};
      },
      mul},
     true},
    {"a 0-dim tensor that is a number, beside a number",
     {"", [] { return Operands{numbers({}, kDouble)}; }, [](const Operands& x) { return Results{x[0].mul(3)}; }},
     {"",
      [] {
        Tensor number = numbers({}, kDouble);
        number.unsafeGetTensorImpl()->set_wrapped_number(true);
        return Operands{number};
      },
      [](const Operands& x) { return Results{x[0].mul(3)}; }},
     true},
    {"an integer after a floating-point number",
     {"", [] { return Operands{numbers({5, 16}, kLong)}; }, [](const Operands& x) { return Results{x[0].mul(2.5)}; }},
     {"", [] { return Operands{numbers({5, 16}, kLong)}; }, [](const Operands& x) { return Results{x[0].mul(3)}; }},
     true},
    {"a bool after an integer",
     {"", [] { return Operands{numbers({5, 16}, kBool)}; }, [](const Operands& x) { return Results{x[0].mul(3)}; }},
     {"", [] { return Operands{numbers({5, 16}, kBool)}; }, [](const Operands& x) { return Results{x[0].mul(true)}; }},
     true},
    {"another power",
     {"", [] { return Operands{numbers({5, 16})}; }, [](const Operands& x) { return Results{x[0].pow(2)}; }},
     {"", [] { return Operands{numbers({5, 16})}; }, [](const Operands& x) { return Results{x[0].pow(3)}; }},
     true},
    {"one element with dimensions after none",
     {"", [] { return Operands{numbers({}), numbers({})}; }, mul},
     {"", [] { return Operands{numbers({1}), numbers({})}; }, mul},
     true},
    {"no elements",
     {"", [] { return Operands{numbers({5, 16}), numbers({16})}; }, add},
     {"", [] { return Operands{numbers({0, 16}), numbers({16})}; }, add},
     true},
    {"no elements, and one dimension of one",
     {"", [] { return Operands{numbers({3, 5, 6}), numbers({6})}; }, add},
     {"", [] { return Operands{numbers({0, 1, 6}), numbers({6})}; }, add},
     true},
    {"no elements, of two dtypes",
     {"", [] { return Operands{numbers({3, 5, 6}), numbers({3, 5, 6}, kInt)}; }, mul},
     {"", [] { return Operands{numbers({0, 1, 6}), numbers({0, 1, 6}, kInt)}; }, mul},
     true},
    {"no elements, permuted, beside a mask",
     {"", [] { return viewed({masked({3, 5, 6}), numbers({3, 5, 6}), numbers({3, 5, 6})}); }, where},
     {"", [] { return permuted({masked({3, 0, 6}), numbers({3, 0, 6}), numbers({3, 0, 6})}); }, where},
     true},
    {"no elements, permuted, beside a mask and a number",
     {"", [] { return viewed({numbers({3, 5, 6}), masked({3, 5, 6})}); }, maskedFill},
     {"", [] { return permuted({numbers({3, 0, 6}), masked({3, 0, 6})}); }, maskedFill},
     true},
    {"no elements, permuted",
     {"", [] { return viewed({numbers({3, 5, 6}), numbers({3, 5, 6})}); }, add},
     {"", [] { return permuted({numbers({3, 0, 6}), numbers({3, 0, 6})}); }, add},
     false},
    {"an output that is an input, by another view",
     {"", [] { return Operands{columns({6, 20}), columns({6, 20})}; }, addInPlace},
     {"",
      [] {
        const Tensor t = numbers({6, 44});
        return Operands{t.narrow(1, 0, 20), t.narrow(1, 0, 20)};
      },
      addInPlace},
     true},
    {"an output beside its input",
     {"", [] { return Operands{columns({6, 20}), columns({6, 20})}; }, addInPlace},
     {"",
      [] {
        const Tensor t = numbers({6, 44});
        return Operands{t.narrow(1, 0, 20), t.narrow(1, 22, 20)};
      },
      addInPlace},
     false},
};

class Strangers : public testing::TestWithParam<Stranger> {};

TEST_P(Strangers, GetTheInterpretersResult) { expectInterpreter(GetParam(), interpretedLoops); }

INSTANTIATE_TEST_SUITE_P(Elementwise, Strangers, testing::ValuesIn(kStrangers));

// Both refuse them alike: in a thunk made for dense operands, views of the output's elements that overlap it in part,
// and one of all of them whose strides differ in a dimension of one.
TEST(Strangers, ThatOverlapTheOutputAreRefused) {
  const std::pair<const char*, std::function<Operands()>> cases[] = {
      {"part of it",
       [] {
         const Tensor t = numbers({24});
         return Operands{t.narrow(0, 0, 16), t.narrow(0, 1, 16)};
       }},
      {"other strides of dimensions of one",
       [] {
         const Tensor t = numbers({16});
         return Operands{t.unsqueeze(1), t.unsqueeze(0).transpose(0, 1)};
       }},
      {"one row of it",
       [] {
         const Tensor t = numbers({5, 16});
         return Operands{t, t.select(0, 0)};
       }},
      {"one element of it",
       [] {
         const Tensor t = numbers({5, 16});
         return Operands{t, t.select(0, 0).select(0, 0)};
       }},
  };
  jit::clear();
  const uint64_t before_all = jit::calls_in_thunks();
  for (int i = 0; i < 3; ++i) addInPlace({numbers({5, 16}), numbers({5, 16})});
  EXPECT_GT(jit::calls_in_thunks(), before_all);
  for (const auto& [what, make] : cases) {
    SCOPED_TRACE(what);
    const Operands operands = make();
    const Tensor before = operands[0].clone();
    const uint64_t loops = interpretedLoops();
    EXPECT_THAT([&] { addInPlace(operands); },
                testing::ThrowsMessage<shunt::Error>(testing::HasSubstr("refer to a single memory location")));
    EXPECT_NE(interpretedLoops(), loops);
    expectSame(before, operands[0]);
  }
}

// The kinds of operands are numbers of two headers; the plan has a name for each.
TEST(Plans, NameTheOperands) {
  const std::tuple<LoopCase, const char*, const char*> cases[] = {
      {{"", [] { return Operands{numbers({5, 16}), numbers({5, 1})}; }, add},
       "input 0: same shape Float; input 1: column Float",
       endOfCalled()},
      {{"", [] { return Operands{numbers({16}), numbers({1})}; }, mul},
       "input 0: same shape Float; input 1: one element with dimensions Float",
       endOfMadeWithAvx512()},
      {{"", [] { return Operands{columns({9, 16}), everySecond({9, 16})}; }, add},
       "input 0: strided, 1 Float; input 1: strided, gathered Float",
       endOfCalled()},
      {{"", [] { return Operands{columns({9, 16}), numbers({9}).view({9, 1}).expand({9, 16})}; }, mul},
       "input 1: strided, 0 Float",
       endOfCalled()},
      {{"", [] { return Operands{numbers({5, 16})}; }, [](const Operands& x) -> Results { return {x[0].pow(2)}; }},
       "common dtype Float; input 0: same shape Float; common dtype given by the kernel",
       endOfMadeWithAvx512()},
  };
  for (const auto& [c, text, end] : cases) {
    jit::clear();
    c.call(made(c));  // compiles
    std::string plans;
    for (const jit::PairStats& p : jit::stats().pairs) plans += p.plan;
    EXPECT_THAT(plans, testing::HasSubstr(std::string(text) + end)) << plans;
  }
}

}  // namespace
}  // namespace diff
