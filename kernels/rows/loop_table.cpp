#include "kernels/rows/loop_table.h"

namespace shunt::reduce {

namespace {
#define SHUNT_LOOPS(isa) {&isa::kReductions, &isa::kConvertLoops, &isa::kArgLoops}
constexpr LoopTable kTables[kNumIsas] = SHUNT_PER_ISA(SHUNT_LOOPS);
#undef SHUNT_LOOPS
}  // namespace

const LoopTable& loopTable() { return kTables[static_cast<int>(detail::activeIsa())]; }

}  // namespace shunt::reduce
