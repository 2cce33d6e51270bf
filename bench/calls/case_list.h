// The operators that are measured, once for both libraries: X(name, expression in a, b and w).
// `a` and `b` are operands of the case's size, `w` a bias of one row. Each library's file includes this with `lib` defined
// as its namespace.
#define SHUNT_BENCH_OPERATORS(X)            \
  X(add, lib::add(a, b))                    \
  X(mul, lib::mul(a, b))                    \
  X(relu, lib::relu(a))                     \
  X(sigmoid, lib::sigmoid(a))               \
  X(sum, lib::sum(a))                       \
  X(mm, lib::mm(a, b))                      \
  X(linear, lib::linear(a, b, w))
