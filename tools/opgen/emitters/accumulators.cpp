// The dictionary's accumulators: the list of which the tables of loops are made.
#include "tools/opgen/emitters/emit.h"

#include <fmt/format.h>

namespace opgen {

void emitAccumulators(const Dictionary& dictionary, const Output& out) {
  std::string list;
  int index = 0;
  for (const std::string& name : accumulatorsOf(dictionary)) list += fmt::format(" X({}, {})", name, index++);
  out.write("generated/accumulators.h",
            fmt::format(R"({}// The accumulators of the dictionary (kernels/rows/accumulators.h), numbered. Macros only.
#pragma once

namespace shunt::reduce {{
inline constexpr int kNumAccumulators = {};
}}

// X(accumulator, index)
#define SHUNT_FORALL_ACCUMULATORS(X){}
)",
                        kBanner, index, list));
}

}  // namespace opgen
