// RowStages: a pointwise loop, an operator along rows, and another pointwise loop, run by blocks of rows, so that what
// one leaves for the next stays in the L1 cache. Either pointwise loop may be missing.
//
// All three are the interpreter's loops (the pointwise ones native where that is faster), and rows are independent, so
// the bits are those of one operator after the other. Constant once built; any threads may run it.
#pragma once

#include "src/compile/loops/native_loop.h"

#include <shunt/elementwise/row_loop.h>

#include <memory>
#include <string>
#include <vector>

namespace shunt::compiled {

struct RowStages {
  /// A pointwise loop over some rows. Its operands by their places.
  struct Stage {
    BlockLoop loop;
    std::unique_ptr<const NativeLoop> native;
    std::vector<uint16_t> places;
    void run(std::byte* const* at, int64_t rows, bool comparable) const;
  };
  static constexpr int kNone = -1;
  static constexpr size_t kBufferBytes = size_t{8} * 1024;  // of all buffers, where a row isn't longer
  static constexpr size_t kMostBytes = size_t{24} * 1024;
  static constexpr int64_t kApart = 128;  // a multiple of 4096 would look alike to the CPU's store forwarding

  // Places: the operands that are given, then buffers.
  std::vector<int64_t> outer;  // of given ones: bytes from a row to the next one
  size_t buffers = 0;
  int64_t buffer_stride = 0, rows_at_once = 1;
  std::unique_ptr<Stage> before, after;
  elementwise::RowLoopFn run_rows = nullptr;
  int in = kNone, out = kNone, weight = kNone, bias = kNone;  // places
  int64_t rows = 0, n = 0;
  double eps = 0;
  size_t folded = 0;  // pointwise nodes that run_rows does as weight and bias

  /// For buffers of elements of so many bytes at most, a row of each of which has room in kMostBytes.
  void chooseBlock(int64_t element_bytes);
  /// Whether it has, whatever their elements are.
  static bool fits(int64_t n, size_t buffers) {
    return (n * 8 + kApart + 64) * static_cast<int64_t>(buffers) <= static_cast<int64_t>(kMostBytes);
  }
  /// The given operands' addresses.
  void run(std::byte* const* operands) const;
  void describe(PlanPart& part) const;

 private:
  void runPart(std::byte* const* operands, int64_t first, int64_t last) const;
};

}  // namespace shunt::compiled
