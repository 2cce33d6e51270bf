// The loops of row_loops.h that compute in double and truth values.
#include "kernels/rows/isa_rows.h"

namespace shunt::reduce::SHUNT_ISA_NAMESPACE {
constinit const RowTable kRowTable2 = rowTableOf<double, uint8_t>();
}
