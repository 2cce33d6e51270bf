// Arguments for the functions under test. Test code; any thread.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

namespace shunt::math_test {

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

/// Zeros, denormals, infinities, NaN, the ends of the range and where functions change.
template <class T>
std::vector<T> specialValues() {
  using L = std::numeric_limits<T>;
  std::vector<T> positive = {T(0),
                             L::denorm_min(),
                             3 * L::denorm_min(),
                             L::min() / 2,
                             L::min(),
                             L::epsilon(),
                             T(0.5),
                             T(1),
                             T(1) - L::epsilon() / 2,
                             T(1) + L::epsilon(),
                             T(2) / 3,
                             T(4) / 3,
                             T(1.5),
                             T(2),
                             T(3),
                             T(10),
                             T(88.72283),
                             T(88.72284),
                             T(104),
                             T(709.78),
                             T(745.2),
                             T(1e5),
                             T(0x1p20),
                             T(0x1p28),
                             T(1e10),
                             T(1e30),
                             L::max(),
                             L::infinity(),
                             L::quiet_NaN()};
  std::vector<T> all;
  for (T v : positive) all.insert(all.end(), {v, -v});
  return all;
}

/// Evenly spaced bit patterns (so every exponent, sign and NaN class), 2^32 / stride of them.
inline std::vector<float> sweepFloat(uint32_t stride) {
  std::vector<float> values;
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += stride)
    values.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  return values;
}

/// n random bit patterns, and as many values spread over [-limit, limit] for each limit.
template <class T>
std::vector<T> randomValues(int64_t n, std::initializer_list<double> limits, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(std::bit_cast<T>(static_cast<BitsOf<T>>(random())));
  for (double limit : limits)
    for (int64_t i = 0; i < n; ++i)
      values.push_back(static_cast<T>(std::uniform_real_distribution<double>(-limit, limit)(random)));
  return values;
}

/// Same bits; any NaN equals any other.
template <class T>
bool sameBits(T a, T b) {
  return (a != a && b != b) || std::bit_cast<BitsOf<T>>(a) == std::bit_cast<BitsOf<T>>(b);
}

}  // namespace shunt::math_test
