// BlockLoop: a chain of pointwise loops over common elements, run block by block, so that what one loop leaves for the
// next stays in the L1 cache. Each loop is the interpreter's, so every element is rounded as it would be in memory.
//
// Constant once built; run() may be called by any threads. The operands' memory is the caller's.
#pragma once

#include <shunt/elementwise/loop_types.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace shunt::compiled {

struct BlockLoop {
  /// Bytes from a row to the next one, and from an element to the next one in its row. Both 0: one element, or a
  /// buffer.
  struct Place {
    int64_t outer = 0, inner = 0;
    ScalarType dtype = ScalarType::Undefined;
  };
  struct Number {
    elementwise::ScalarSlot slot;
    ScalarType dtype = ScalarType::Undefined;
  };
  /// One loop of the chain. Places by index: operands (inputs, then outputs), then numbers, then buffers.
  struct Instruction {
    elementwise::LoopFn run = nullptr;
    elementwise::CastFn cast = nullptr;            // of a cast, whose one input is as long as the output
    elementwise::GenericLoopFn generic = nullptr;  // for native code; null: there is none
    ScalarType common = ScalarType::Undefined, result = ScalarType::Undefined;
    int num_inputs = 0;
    uint16_t out = 0;
    uint16_t in[elementwise::kMaxInputs] = {};
    uint32_t repeated = 0;                                      // bits of inputs that are one element for a whole row
    uint32_t scalars = 0;                                       // where its scalars begin
    bool by_rows = false;                                       // some input isn't as long as several rows
    int64_t out_row = 0, in_row[elementwise::kMaxInputs] = {};  // bytes from a row to the next one
  };
  static constexpr size_t kMaxPlaces = 96;
  static constexpr size_t kBufferBytes = size_t{24} * 1024;  // of all buffers: leaves the L1 cache some for operands

  int64_t rows = 1, columns = 0;
  int64_t block = 0;         // elements of a row that are computed at a time
  int64_t rows_at_once = 1;  // more than one: whole rows are
  std::vector<Place> operands;
  size_t buffers = 0;
  int64_t buffer_stride = 0;  // bytes from a buffer to the next one
  std::vector<Number> numbers;
  std::vector<elementwise::ScalarSlot> scalars;
  std::vector<Instruction> instructions;

  /// Chooses the block for buffers of elements of so many bytes at most.
  void chooseBlock(int64_t element_bytes);
  size_t places() const { return operands.size() + numbers.size() + buffers; }
  /// The operands' addresses in the order of `operands`.
  void run(std::byte* const* operands) const;
  /// On some of its rows, at these addresses, on this thread.
  void runSome(std::byte* const* operands, int64_t count) const;

 private:
  void setBases(std::byte* const* operands, std::byte** bases) const;
  void runRows(std::byte* const* bases, int64_t first, int64_t last) const;
  void runColumns(std::byte* const* bases, int64_t first, int64_t last) const;
  void call(const Instruction& i, std::byte* out, const std::byte* const* in, int64_t n) const {
    if (i.cast != nullptr)
      i.cast(out, in[0], n);
    else
      i.run(out, in, i.repeated, n, scalars.data() + i.scalars);
  }
  void runBlock(std::byte* const* at, int64_t n) const;
  void runBlockOfRows(std::byte* const* at, int64_t count) const;
};

}  // namespace shunt::compiled
