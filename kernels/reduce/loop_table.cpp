#include "kernels/reduce/loop_table.h"

namespace shunt::reduce {

namespace {
constexpr LoopTable kTables[kNumIsas] = {
    {&baseline::kBlockLoops, &baseline::kConvertLoops, &baseline::kArgLoops},
    {&v3::kBlockLoops, &v3::kConvertLoops, &v3::kArgLoops},
    {&v4::kBlockLoops, &v4::kConvertLoops, &v4::kArgLoops},
};
}  // namespace

const LoopTable& loopTable() { return kTables[static_cast<int>(detail::activeIsa())]; }

}  // namespace shunt::reduce
