// The tables of the instruction set in use, and the loops that descriptors name.
#include "kernels/rows/loop_table.h"

#include "kernels/rows/arg_reduce.h"
#include "kernels/rows/row_loops.h"

namespace shunt::reduce {

namespace {
#define SHUNT_LOOPS(isa) {&isa::kReductions, &isa::kConvertLoops, &isa::kArgLoops}
constexpr LoopTable kTables[kNumIsas] = SHUNT_PER_ISA(SHUNT_LOOPS);
#undef SHUNT_LOOPS

#define SHUNT_ROWS(isa) &isa::kRowTable1
constexpr const RowTable* kRowTables1[kNumIsas] = SHUNT_PER_ISA(SHUNT_ROWS);
#undef SHUNT_ROWS
#define SHUNT_ROWS(isa) &isa::kRowTable2
constexpr const RowTable* kRowTables2[kNumIsas] = SHUNT_PER_ISA(SHUNT_ROWS);
#undef SHUNT_ROWS
}  // namespace

const LoopTable& loopTable() { return kTables[static_cast<int>(detail::activeIsa())]; }
const RowTable& rowTable(rows::ComputeType type) {
  const bool first = type == rows::ComputeType::kFloat || type == rows::ComputeType::kLong;
  return *(first ? kRowTables1 : kRowTables2)[static_cast<int>(detail::activeIsa())];
}

rows::LoopFn reductionLoop(const rows::Descriptor& op, rows::ComputeType type, rows::Span span) {
  return rowTable(type).reductions[op.accumulator].find(type, span);
}
rows::LoopFn scanLoop(const rows::Descriptor& op, rows::ComputeType type, rows::Span span) {
  return rowTable(type).scans[op.accumulator].find(type, span);
}
rows::LoopFn argReductionLoop(const rows::Descriptor& op, rows::ComputeType type, rows::Span span) {
  return rowTable(type).extremes[isMaximum(op) ? 1 : 0].find(type, span);
}

}  // namespace shunt::reduce
