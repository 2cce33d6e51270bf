// Calls of thirty pairs, a third of them with gradients, none of which looks at mul.Tensor's CPU kernel: what the tests
// of threads, forks and memory keep the compiler busy with. Any thread may call; operands are each thread's own.
#pragma once

#include <shunt/shunt.h>

#include <functional>
#include <string>
#include <vector>

namespace diff {

/// -1, -0.75, -0.5...
shunt::Tensor numbers(std::initializer_list<int64_t> sizes, shunt::ScalarType dtype = shunt::kFloat);

/// The elements, in order.
std::string bytesOf(const shunt::Tensor& t);

struct Operands {
  shunt::Tensor a = numbers({4, 8}), b = numbers({4, 8}), row = numbers({8}), m = numbers({8, 4});
  shunt::Tensor doubles = numbers({4, 8}, shunt::kDouble), half = numbers({4, 8}, shunt::kBFloat16);
  shunt::Tensor ints = numbers({4, 8}, shunt::kLong), t = numbers({8, 4}).t();
};

using Call = std::function<shunt::Tensor(const Operands&)>;
const std::vector<Call>& calls();

/// What each of them gives while the compiler is off; it is on afterwards.
std::vector<std::string> interpretedResults();

/// The first of the calls whose result is not the expected one, or -1.
int firstWrong(const Operands& x, const std::vector<std::string>& expected);

}  // namespace diff
