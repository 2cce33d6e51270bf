// Distances between samples. Note [Uneven samples] (observe.cpp) says why they differ.
#pragma once

#include <cstdint>

namespace shunt::jit {

class Distances {
 public:
  /// From 1 to 2 * mean - 1.
  int64_t draw(int64_t mean) {
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    return 1 + static_cast<int64_t>((random_ >> 32) * static_cast<uint64_t>(2 * mean - 1) >> 32);
  }

 private:
  uint64_t random_ = 0x9e3779b97f4a7c15u;
};

}  // namespace shunt::jit
