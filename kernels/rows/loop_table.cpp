// The tables of the instruction set in use, and the loops that descriptors name.
#include "kernels/rows/loop_table.h"

#include "kernels/rows/arg_reduce.h"
#include "kernels/rows/row_loops.h"

namespace shunt::reduce {

namespace {
#define SHUNT_LOOPS(isa) {&isa::kReductions, &isa::kConvertLoops, &isa::kArgLoops}
constexpr LoopTable kTables[kNumIsas] = SHUNT_PER_ISA(SHUNT_LOOPS);
#undef SHUNT_LOOPS

#define SHUNT_ROWS(isa) &isa::kRowTable
constexpr const RowTable* kRowTables[kNumIsas] = SHUNT_PER_ISA(SHUNT_ROWS);
#undef SHUNT_ROWS
}  // namespace

const LoopTable& loopTable() { return kTables[static_cast<int>(detail::activeIsa())]; }
const RowTable& rowTable() { return *kRowTables[static_cast<int>(detail::activeIsa())]; }

rows::LoopFn reductionLoop(const rows::Descriptor& op, rows::ComputeType type, rows::Span span) {
  return rowTable().reductions[op.accumulator].find(type, span);
}
rows::LoopFn scanLoop(const rows::Descriptor& op, rows::ComputeType type, rows::Span span) {
  return rowTable().scans[op.accumulator].find(type, span);
}
rows::LoopFn argReductionLoop(const rows::Descriptor& op, rows::ComputeType type, rows::Span span) {
  return rowTable().extremes[isMaximum(op) ? 1 : 0].find(type, span);
}

}  // namespace shunt::reduce
