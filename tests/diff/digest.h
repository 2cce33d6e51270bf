// A digest of what a call left behind: for telling, with one line per operator, whether interpreted results are still
// the same to the bit.
#pragma once

#include "tests/parity/case.h"

#include <cstdint>

namespace diff {

/// FNV-1a, 64 bits, of whatever is fed to it.
class Digest {
 public:
  void add(const void* data, size_t size);
  void add(int64_t v) { add(&v, sizeof v); }
  void add(const std::string& s);
  void add(const std::vector<int64_t>& v);

  /// What `firstDifference` compares but messages of errors: every bit of results, arguments and gradients where
  /// `values`, metadata always. A NaN counts as one value.
  void add(const parity::Outcome& outcome, bool values);

  uint64_t value() const { return hash_; }

 private:
  void add(const parity::TensorState& t, bool values);
  void add(const parity::Returned& r, bool values);

  uint64_t hash_ = 0xcbf29ce484222325;
};

}  // namespace diff
