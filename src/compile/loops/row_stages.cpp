#include "src/compile/loops/row_stages.h"

#include <shunt/core/error.h>
#include <shunt/core/parallel.h>

#include <algorithm>

namespace shunt::compiled {

void RowStages::Stage::run(std::byte* const* at, int64_t count, bool comparable) const {
  std::byte* operands[BlockLoop::kMaxPlaces];
  for (size_t i = 0; i < places.size(); ++i) operands[i] = at[places[i]];
  native->runRows(operands, loop, count, comparable);
}

void RowStages::chooseBlock(int64_t element_bytes) {
  const int64_t row = n * element_bytes, each = row * static_cast<int64_t>(std::max<size_t>(buffers, 1));
  rows_at_once = std::clamp<int64_t>(static_cast<int64_t>(kBufferBytes) / std::max<int64_t>(each, 1), 1, rows);
  const int64_t parts = (rows + rows_at_once - 1) / rows_at_once;
  rows_at_once = (rows + parts - 1) / parts;
  buffer_stride = (rows_at_once * row + 63) / 64 * 64 + kApart;
}

void RowStages::run(std::byte* const* operands) const {
  if (rows * n <= kDefaultGrain) return runPart(operands, 0, rows);
  parallelFor(0, rows, std::max<int64_t>(1, kDefaultGrain / n),
              [&](int64_t first, int64_t last) { runPart(operands, first, last); });
}

void RowStages::runPart(std::byte* const* operands, int64_t first, int64_t last) const {
  alignas(64) std::byte arena[kMostBytes];
  std::byte* at[BlockLoop::kMaxPlaces];
  for (size_t b = 0; b < buffers; ++b) at[outer.size() + b] = arena + static_cast<int64_t>(b) * buffer_stride;
  const auto placed = [&](int place) { return place == kNone ? nullptr : at[place]; };
  for (int64_t r = first; r < last; r += rows_at_once) {
    const int64_t count = std::min(rows_at_once, last - r);
    for (size_t i = 0; i < outer.size(); ++i) at[i] = operands[i] + r * outer[i];
    if (before != nullptr) before->run(at, count, count == rows_at_once);
    run_rows({at[out], at[in], placed(weight), placed(bias), count, n, eps});
    if (after != nullptr) after->run(at, count, count == rows_at_once);
  }
}

void RowStages::describe(PlanPart& part) const {
  part.buffers = buffers;
  part.block = rows_at_once;
  part.parameters = folded;
  if (before != nullptr) part.before = before->native->describe();
  if (after != nullptr) part.after = after->native->describe();
}

}  // namespace shunt::compiled
