// The descriptors of the dictionary's reductions and scans, from their accumulators. Constants; any thread.
#pragma once

#include "kernels/rows/request.h"

#include <shunt/elementwise/kernel_descriptor.h>

namespace shunt::reduce {

/// A column's elements that the loops take: the interpreter has one chunk of so few rows, however wide they are.
inline constexpr int64_t kLongestColumn = 2 * kRowBlock;

/// What a reduction reads and writes.
struct Memory {
  ScalarType dtype, result;
  const std::byte* in;
  std::byte* out;
  std::byte* pivots = nullptr;
};
/// What the engine does for elements that lie as the plan has it, where not all dimensions were meant without being
/// named.
void reduceAsPlanned(const rows::Descriptor& op, rows::ComputeType type, const Memory& memory, const Plan& plan);

/// Engines and loops: reduce.cpp, scan.cpp, isa_rows.h.
void reduceEngine(const rows::Request& request, const rows::Results& results);
void scanEngine(const rows::Request& request, const rows::Results& results);
rows::LoopFn reductionLoop(const rows::Descriptor& op, rows::ComputeType type, rows::Span span);
rows::LoopFn scanLoop(const rows::Descriptor& op, rows::ComputeType type, rows::Span span);

enum class Kind : uint8_t { kReduction, kWithPivots, kScan };

template <class Acc, Kind K>
struct Named {};

template <class Acc, Kind K>
constexpr rows::Descriptor describe() {
  const uint64_t id = elementwise::detail::functorId<Named<Acc, K>>() & ~uint64_t{3};
  const auto second = K == Kind::kWithPivots ? rows::Second::kPivots : rows::Second::kNone;
  if constexpr (K == Kind::kScan)
    return {"scan", id,     indexOf<Acc>(), ComputeIn::kWide, second, /*keeps_shape=*/true,
            kBlock, kBlock, &scanEngine,    &scanLoop};
  else
    return {"reduction",           id,     indexOf<Acc>(), Acc::kIn,      second,
            /*keeps_shape=*/false, kBlock, kLongestColumn, &reduceEngine, &reductionLoop};
}

template <class Acc, Kind K = Kind::kReduction>
inline constexpr rows::Descriptor kDescriptor = describe<Acc, K>();

}  // namespace shunt::reduce
