// The loops of row_loops.h that compute in float and int64_t.
#include "kernels/rows/isa_rows.h"

namespace shunt::reduce::SHUNT_ISA_NAMESPACE {
constinit const RowTable kRowTable1 = rowTableOf<float, int64_t>();
}
