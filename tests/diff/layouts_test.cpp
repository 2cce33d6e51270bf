// Elementwise operators on operands that are not dense tensors of one shape: the thunk's own loop ran (no counter of the
// interpreter's paths moved), and left what the interpreter leaves, bit for bit, with the same strides. And a thunk that
// meets operands of its pair in other shapes than it expects hands them to the interpreter.
#include "kernels/elementwise/run.h"
#include "tests/diff/thunks.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>

namespace diff {
namespace {

using namespace shunt;
using Operands = std::vector<Tensor>;

struct Row {
  const char* what;
  std::function<Operands()> make;
  std::function<Tensor(const Operands&)> call;
  bool own_loop = true;  // or the interpreter's, which gathers elements that are apart
};
void PrintTo(const Row& r, std::ostream* out) { *out << r.what; }

Tensor numbers(std::vector<int64_t> sizes, ScalarType dtype = kFloat) { return shunt::randn(sizes).mul(8).to(dtype); }
Tensor transposed(std::vector<int64_t> sizes, ScalarType dtype = kFloat) {
  std::swap(sizes[0], sizes[1]);
  return numbers(sizes, dtype).transpose(0, 1);
}
/// Rows of a wider tensor.
Tensor columns(std::vector<int64_t> sizes, ScalarType dtype = kFloat) {
  return numbers({sizes[0], sizes[1] + 4}, dtype).narrow(1, 2, sizes[1]);
}
Tensor everySecond(std::vector<int64_t> sizes, ScalarType dtype = kFloat) {
  return numbers({sizes[0], 2 * sizes[1]}, dtype).slice(1, 0, 2 * sizes[1], 2);
}

Tensor add(const Operands& x) { return x[0].add(x[1], 2); }
Tensor mul(const Operands& x) { return x[0].mul(x[1]); }
Tensor addInPlace(const Operands& x) { return x[0].add_(x[1]); }
Tensor addOut(const Operands& x) { return shunt::add_out(const_cast<Tensor&>(x[2]), x[0], x[1]); }
Tensor addcmul(const Operands& x) { return shunt::addcmul(x[0], x[1], x[2], 3); }
Tensor relu(const Operands& x) { return x[0].relu(); }
Tensor exp(const Operands& x) { return x[0].exp(); }

const Row kSpecialised[] = {
    {"a row for each row", [] { return Operands{numbers({5, 16}), numbers({16})}; }, add},
    {"a row first", [] { return Operands{numbers({16}), numbers({5, 16})}; }, add},
    {"a row of BFloat16", [] { return Operands{numbers({5, 19}, kBFloat16), numbers({19}, kBFloat16)}; }, add},
    {"a row of another dtype", [] { return Operands{numbers({5, 19}), numbers({19}, kInt)}; }, mul},
    {"a matrix for each matrix", [] { return Operands{numbers({3, 4, 8}), numbers({4, 8})}; }, mul},
    {"rows of two operands of three", [] { return Operands{numbers({8}), numbers({6, 8}), numbers({8})}; }, addcmul},
    {"a row, in place", [] { return Operands{numbers({5, 16}), numbers({16})}; }, addInPlace},
    {"a row, out=", [] { return Operands{numbers({5, 16}), numbers({16}), shunt::empty({5, 16}, kFloat)}; }, addOut},
    {"a row of a tensor that requires grad", [] { return Operands{numbers({5, 16}).requires_grad_(), numbers({16})}; }, mul},
    {"one element with dimensions", [] { return Operands{numbers({5, 16}), numbers({1, 1})}; }, mul},
    {"one element of another dtype", [] { return Operands{numbers({5, 16}, kLong), numbers({1})}; }, mul},
    {"both transposed", [] { return Operands{transposed({9, 16}), transposed({9, 16})}; }, add},
    {"one transposed", [] { return Operands{numbers({9, 16}), transposed({9, 16})}; }, add, false},
    {"transposed, Half and Float", [] { return Operands{transposed({9, 16}, kHalf), numbers({9, 16})}; }, mul, false},
    {"transposed, Int and Double", [] { return Operands{transposed({9, 16}, kInt), transposed({9, 16}, kDouble)}; }, mul},
    {"transposed with a row", [] { return Operands{transposed({9, 16}), numbers({16})}; }, add},
    {"columns of wider ones", [] { return Operands{columns({6, 20}), columns({6, 20})}; }, add},
    {"columns with a column", [] { return Operands{columns({6, 20}), numbers({6, 1})}; }, mul},
    {"every second element", [] { return Operands{numbers({6, 20}), everySecond({6, 20})}; }, add, false},
    {"every second one of Bool", [] { return Operands{numbers({6, 20}), everySecond({6, 20}, kBool)}; }, mul, false},
    {"an expanded row", [] { return Operands{numbers({6, 20}), numbers({20}).expand({6, 20})}; }, add},
    {"an expanded column", [] { return Operands{numbers({6, 20}), numbers({6, 1}).expand({6, 20})}; }, add},
    {"strided with a 0-dim tensor", [] { return Operands{everySecond({6, 20}), numbers({})}; }, mul, false},
    {"a strided line", [] { return Operands{numbers({40}).slice(0, 0, 40, 2)}; }, exp, false},
    {"one operand, transposed", [] { return Operands{transposed({9, 16}, kBFloat16)}; }, relu},
    {"one operand, transposed, promoted", [] { return Operands{transposed({9, 16}, kInt)}; }, exp},
    {"three dimensions, the outer ones swapped", [] { return Operands{transposed({3, 4, 12}), numbers({3, 4, 12})}; }, add},
    {"strided, in place", [] { return Operands{columns({6, 20}), numbers({6, 20})}; }, addInPlace},
    {"strided inputs, out=", [] { return Operands{transposed({9, 16}), numbers({9, 16}), shunt::empty({9, 16}, kFloat)}; }, addOut, false},
    {"strided out=", [] { return Operands{numbers({6, 20}), numbers({6, 20}), columns({6, 20})}; }, addOut},
    {"transposed, requires grad", [] { return Operands{transposed({9, 16}).requires_grad_(), numbers({9, 16})}; }, mul, false},
};

Operands made(const Row& row) {
  shunt::manual_seed(5);
  return row.make();
}

void expectSame(const Tensor& expected, const Tensor& got) {
  ASSERT_EQ(got.sizes(), expected.sizes());
  EXPECT_EQ(got.strides(), expected.strides());
  ASSERT_EQ(got.scalar_type(), expected.scalar_type());
  const Tensor a = expected.detach().contiguous(), b = got.detach().contiguous();
  EXPECT_EQ(std::memcmp(a.data_ptr(), b.data_ptr(), static_cast<size_t>(a.numel() * a.element_size())), 0);
}

uint64_t interpretedLoops() { return elementwise::pathCounters().fast + elementwise::pathCounters().planned; }

Tensor interpreted(const Row& row) {
  jit::set_enabled(false);
  const Tensor result = row.call(made(row));
  jit::set_enabled(true);
  return result;
}

// Those with rows or with inner strides of 1 and 0 in a loop of the thunk's own.
class Layouts : public testing::TestWithParam<Row> {};

TEST_P(Layouts, RunTheThunksOwnLoop) {
  const Row& row = GetParam();
  const Tensor expected = interpreted(row);
  row.call(made(row));  // compiles
  const Operands operands = made(row);
  const uint64_t calls = jit::calls_in_thunks(), loops = interpretedLoops();
  const Tensor got = row.call(operands);
  EXPECT_EQ(jit::calls_in_thunks(), calls + 1);
  EXPECT_EQ(interpretedLoops() == loops, row.own_loop);
  expectSame(expected, got);
}

INSTANTIATE_TEST_SUITE_P(Elementwise, Layouts, testing::ValuesIn(kSpecialised));

/// Of the pair that `compiled_for` belongs to.
struct Stranger {
  const char* what;
  Row compiled_for, called_with;
  bool interpreter;  // or the thunk's loop after all
};
void PrintTo(const Stranger& s, std::ostream* out) { *out << s.what; }

const Stranger kStrangers[] = {
    {"same shapes after rows", {"", [] { return Operands{numbers({5, 16}), numbers({16})}; }, add},
     {"", [] { return Operands{numbers({3, 7}), numbers({3, 7})}; }, add}, false},
    {"rows after same shapes", {"", [] { return Operands{numbers({3, 7}), numbers({3, 7})}; }, add},
     {"", [] { return Operands{numbers({16}), numbers({5, 16})}; }, add}, false},
    {"a column after rows", {"", [] { return Operands{numbers({5, 16}), numbers({16})}; }, add},
     {"", [] { return Operands{numbers({5, 16}), numbers({5, 1})}; }, add}, true},
    {"rows on both sides", {"", [] { return Operands{numbers({5, 16}), numbers({16})}; }, add},
     {"", [] { return Operands{numbers({5, 1}), numbers({16})}; }, add}, true},
    {"rows of different lengths", {"", [] { return Operands{numbers({6, 8}), numbers({8}), numbers({8})}; }, addcmul},
     {"", [] { return Operands{numbers({2, 6, 8}), numbers({8}), numbers({6, 8})}; }, addcmul}, true},
    {"a 0-dim tensor after one element with dimensions", {"", [] { return Operands{numbers({5, 16}, kInt), numbers({1})}; }, mul},
     {"", [] { return Operands{numbers({5, 16}, kInt), numbers({})}; }, mul}, true},
    {"one element of more dimensions", {"", [] { return Operands{numbers({16}), numbers({1})}; }, mul},
     {"", [] { return Operands{numbers({16}), numbers({1, 1})}; }, mul}, true},
    {"other inner strides", {"", [] { return Operands{transposed({9, 16}), transposed({9, 16})}; }, add},
     {"", [] { return Operands{transposed({9, 16}), everySecond({9, 16})}; }, add}, true},
    {"short rows of strided operands", {"", [] { return Operands{columns({9, 16}), numbers({9, 16})}; }, add},
     {"", [] { return Operands{columns({9, 3}), numbers({9, 3})}; }, add}, true},
    {"no elements", {"", [] { return Operands{numbers({5, 16}), numbers({16})}; }, add},
     {"", [] { return Operands{numbers({0, 16}), numbers({16})}; }, add}, true},
    {"no elements, and one dimension of one", {"", [] { return Operands{numbers({3, 5, 6}), numbers({6})}; }, add},
     {"", [] { return Operands{numbers({0, 1, 6}), numbers({6})}; }, add}, true},
    {"no elements, of two dtypes", {"", [] { return Operands{numbers({3, 5, 6}), numbers({3, 5, 6}, kInt)}; }, mul},
     {"", [] { return Operands{numbers({0, 1, 6}), numbers({0, 1, 6}, kInt)}; }, mul}, true},
    {"an output that shares memory", {"", [] { return Operands{columns({6, 20}), columns({6, 20})}; }, addInPlace},
     {"", [] { const Tensor t = numbers({6, 44}); return Operands{t.narrow(1, 0, 20), t.narrow(1, 22, 20)}; }, addInPlace}, true},
};

class Strangers : public testing::TestWithParam<Stranger> {};

TEST_P(Strangers, GetTheInterpretersResult) {
  const Stranger& s = GetParam();
  const Tensor expected = interpreted(s.called_with);
  s.compiled_for.call(made(s.compiled_for));
  const Operands operands = made(s.called_with);
  const uint64_t calls = jit::calls_in_thunks(), loops = interpretedLoops();
  const Tensor got = s.called_with.call(operands);
  EXPECT_EQ(jit::calls_in_thunks(), calls + 1) << "the operands are of another pair";
  EXPECT_EQ(interpretedLoops() != loops, s.interpreter);
  expectSame(expected, got);
}

INSTANTIATE_TEST_SUITE_P(Elementwise, Strangers, testing::ValuesIn(kStrangers));

}  // namespace
}  // namespace diff
