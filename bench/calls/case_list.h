// The operators that are measured, once for both libraries: X(name, expression in a, b and w). Operands: shapesOf
// (cases.h). Each library's file includes this with `lib` defined as its namespace.
#pragma once

// Those of the table, in all sizes and modes.
#define SHUNT_BENCH_OPERATORS(X) \
  X(add, lib::add(a, b))         \
  X(mul, lib::mul(a, b))         \
  X(relu, lib::relu(a))          \
  X(sigmoid, lib::sigmoid(a))    \
  X(sum, lib::sum(a))            \
  X(mm, lib::mm(a, b))           \
  X(linear, lib::linear(a, b, w))

// And those that only a bar asks for.
#define SHUNT_BENCH_ALL_OPERATORS(X) \
  SHUNT_BENCH_OPERATORS(X)           \
  X(exp, lib::exp(a))                \
  X(tanh, lib::tanh(a))              \
  X(gelu, lib::gelu(a))              \
  X(gelu_tanh, lib::gelu(a, "tanh")) \
  X(add_out, lib::add_out(w, a, b))  \
  X(addmm, lib::addmm(w, a, b))
