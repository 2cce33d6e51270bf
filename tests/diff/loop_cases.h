// Calls whose thunks have a loop of their own, and tests of who ran it: no counter of the interpreter's loops moved,
// and what the thunk left is what the interpreter leaves, bit for bit, with the same strides.
#pragma once

#include "tests/diff/thunks.h"
#include "tests/support/same_bits.h"

#include <shunt/core/isa.h>

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace diff {

using Operands = std::vector<shunt::Tensor>;
using Results = std::vector<shunt::Tensor>;

struct LoopCase {
  const char* what;
  std::function<Operands()> make;
  std::function<Results(const Operands&)> call;
  bool own_loop = true;  // or the interpreter's
};
inline void PrintTo(const LoopCase& c, std::ostream* out) { *out << c.what; }

/// How the plan's text ends a kind's line: Note [Loops that are called] (kernels/pointwise/record.cpp).
inline const char* endOfCalled() { return "; loop ahead of time\n"; }
/// Of small functors of float numbers along all elements.
inline const char* endOfMadeWithAvx512() {
  return shunt::detail::activeIsa() == shunt::Isa::kV4 ? "\n" : endOfCalled();
}

/// `called_with` has the pair that `compiled_for` belongs to.
struct Stranger {
  const char* what;
  LoopCase compiled_for, called_with;
  bool interpreter;  // or the thunk's loop after all
};
inline void PrintTo(const Stranger& s, std::ostream* out) { *out << s.what; }

inline shunt::Tensor numbers(std::vector<int64_t> sizes, shunt::ScalarType dtype = shunt::kFloat) {
  return shunt::randn(sizes).mul(8).to(dtype);
}

inline Operands made(const LoopCase& c) {
  shunt::manual_seed(5);
  return c.make();
}

/// Tensor or Results.
template <class T>
void expectSame(const T& expected, const T& got) {
  EXPECT_TRUE(shunt::test::sameBits(expected, got));
}

inline Results interpreted(const LoopCase& c) {
  shunt::jit::set_enabled(false);
  Results result = c.call(made(c));
  shunt::jit::set_enabled(true);
  return result;
}

/// `interpretedLoops` counts those of the thread.
using LoopCounter = uint64_t (*)();

/// Cases of one pair, which is compiled once.
inline void expectOwnLoops(const std::vector<LoopCase>& cases, LoopCounter interpretedLoops) {
  std::vector<Results> expected;
  for (const LoopCase& c : cases) expected.push_back(interpreted(c));
  cases[0].call(made(cases[0]));  // compiles
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(testing::Message() << "case " << i << ", " << cases[i].what);
    const Operands operands = made(cases[i]);
    const uint64_t calls = shunt::jit::calls_in_thunks(), loops = interpretedLoops();
    const Results got = cases[i].call(operands);
    EXPECT_EQ(shunt::jit::calls_in_thunks(), calls + 1);
    EXPECT_EQ(interpretedLoops() == loops, cases[i].own_loop);
    expectSame(expected[i], got);
  }
}
inline void expectOwnLoop(const LoopCase& c, LoopCounter interpretedLoops) { expectOwnLoops({c}, interpretedLoops); }

inline void expectInterpreter(const Stranger& s, LoopCounter interpretedLoops) {
  const Results expected = interpreted(s.called_with);
  s.compiled_for.call(made(s.compiled_for));
  const Operands operands = made(s.called_with);
  const uint64_t calls = shunt::jit::calls_in_thunks(), loops = interpretedLoops();
  const Results got = s.called_with.call(operands);
  EXPECT_EQ(shunt::jit::calls_in_thunks(), calls + 1) << "the operands are of another pair";
  EXPECT_EQ(interpretedLoops() != loops, s.interpreter);
  expectSame(expected, got);
}

}  // namespace diff
