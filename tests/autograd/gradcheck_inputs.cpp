// The numbers that gradcheck's cases are made of.
#include "tests/autograd/gradcheck_cases.h"

#include <numeric>
#include <random>

namespace shunt::test {

Tensor spread(IntArrayRef sizes, double low, double high, uint64_t seed) {
  const Tensor t = empty(sizes, kDouble);
  const int64_t n = t.numel();
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::mt19937_64 random(seed);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  // An odd fraction of the step keeps clear of 0 and of other seeds' numbers.
  const double step = (high - low) / static_cast<double>(n);
  for (int64_t i = 0; i < n; ++i)
    t.data_ptr<double>()[i] =
        low + step * (static_cast<double>(order[static_cast<size_t>(i)]) + 0.3 + 0.037 * static_cast<double>(seed % 7));
  return t;
}

}  // namespace shunt::test
