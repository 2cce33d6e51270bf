#include "src/compile/loops/block_loop.h"

#include <shunt/core/parallel.h>

#include <algorithm>
#include <bit>

namespace shunt::compiled {
namespace {

// Buffers that lie a multiple of 4096 bytes apart look alike to the CPU's store forwarding.
constexpr int64_t kSkew = 128;
constexpr size_t kArena = BlockLoop::kBufferBytes + 64 * BlockLoop::kMaxPlaces;
constexpr int64_t kLeastBlock = 256, kMostBlock = 2048;

}  // namespace

void BlockLoop::chooseBlock(int64_t element_bytes) {
  const int64_t each = static_cast<int64_t>(kBufferBytes / std::max<size_t>(buffers, 1)) - kSkew;
  const int64_t fits = each / element_bytes / kLeastBlock * kLeastBlock;
  block = std::clamp(fits, std::min(kLeastBlock, each / element_bytes), kMostBlock);
  block = std::max<int64_t>(1, block);
  if (rows > 1 && columns < block) rows_at_once = block / std::max<int64_t>(columns, 1);
  block = std::min(block, std::max<int64_t>(columns, 1));
  buffer_stride = (rows_at_once * block * element_bytes + kSkew + 63) / 64 * 64;
}

void BlockLoop::setBases(std::byte* const* given, std::byte** bases) const {
  std::copy_n(given, operands.size(), bases);
  for (size_t i = 0; i < numbers.size(); ++i)
    bases[operands.size() + i] = const_cast<std::byte*>(reinterpret_cast<const std::byte*>(numbers[i].slot.bytes));
}

void BlockLoop::runSome(std::byte* const* given, int64_t count) const {
  std::byte* bases[kMaxPlaces];
  setBases(given, bases);
  runRows(bases, 0, count);
}

void BlockLoop::run(std::byte* const* given) const {
  std::byte* bases[kMaxPlaces];
  setBases(given, bases);
  if (rows * columns <= kDefaultGrain)
    rows == 1 ? runColumns(bases, 0, columns) : runRows(bases, 0, rows);
  else if (rows == 1)
    parallelFor(0, columns, kDefaultGrain, [&](int64_t first, int64_t last) { runColumns(bases, first, last); });
  else
    parallelFor(0, rows, std::max<int64_t>(1, kDefaultGrain / std::max<int64_t>(columns, 1)),
                [&](int64_t first, int64_t last) { runRows(bases, first, last); });
}

void BlockLoop::runRows(std::byte* const* bases, int64_t first, int64_t last) const {
  std::byte* row[kMaxPlaces];
  const size_t given = operands.size() + numbers.size();
  std::copy_n(bases, given, row);
  for (size_t p = 0; p < operands.size(); ++p) row[p] += first * operands[p].outer;
  alignas(64) std::byte arena[kArena];
  if (rows_at_once > 1)
    for (size_t b = 0; b < buffers; ++b) row[given + b] = arena + static_cast<int64_t>(b) * buffer_stride;
  for (int64_t r = first; r < last; r += rows_at_once) {
    if (rows_at_once > 1)
      runBlockOfRows(row, std::min(rows_at_once, last - r));
    else
      runColumns(row, 0, columns);
    for (size_t p = 0; p < operands.size(); ++p) row[p] += rows_at_once * operands[p].outer;
  }
}

void BlockLoop::runBlockOfRows(std::byte* const* at, int64_t count) const {
  for (const Instruction& i : instructions) {
    const std::byte* in[elementwise::kMaxInputs];
    for (int k = 0; k < i.num_inputs; ++k) in[k] = at[i.in[k]];
    std::byte* out = at[i.out];
    if (!i.by_rows) {
      call(i, out, in, count * columns);
      continue;
    }
    for (int64_t r = 0; r < count; ++r) {
      call(i, out, in, columns);
      out += i.out_row;
      for (int k = 0; k < i.num_inputs; ++k) in[k] += i.in_row[k];
    }
  }
}

void BlockLoop::runColumns(std::byte* const* bases, int64_t first, int64_t last) const {
  alignas(64) std::byte arena[kArena];
  std::byte* at[kMaxPlaces];
  const size_t given = operands.size() + numbers.size();
  std::copy_n(bases, given, at);
  for (size_t p = 0; p < operands.size(); ++p) at[p] += first * operands[p].inner;
  for (size_t b = 0; b < buffers; ++b) at[given + b] = arena + static_cast<int64_t>(b) * buffer_stride;
  for (int64_t begin = first; begin < last; begin += block) {
    runBlock(at, std::min(block, last - begin));
    for (size_t p = 0; p < operands.size(); ++p) at[p] += block * operands[p].inner;
  }
}

void BlockLoop::runBlock(std::byte* const* at, int64_t n) const {
  for (const Instruction& i : instructions) {
    const std::byte* in[elementwise::kMaxInputs];
    for (int k = 0; k < i.num_inputs; ++k) in[k] = at[i.in[k]];
    call(i, at[i.out], in, n);
  }
}

}  // namespace shunt::compiled
