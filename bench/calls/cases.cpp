#include "bench/calls/cases.h"

#include "bench/calls/case_list.h"

#include <cmath>

namespace bench {

Shapes shapesOf(const Case& c) {
  const auto side = static_cast<int64_t>(std::lround(std::sqrt(static_cast<double>(c.numel))));
  if (c.op == "mm" || c.op == "linear") return {{side, side}, {side, side}, {side}};
  if (c.op == "addmm") return {{c.numel, 64}, {64, 64}, {64}};
  return {{c.numel}, {c.numel}, {c.op == "add_out" ? c.numel : side}};
}

std::vector<Case> allCases() {
  std::vector<Case> out;
#define SHUNT_NAME(name, expression) #name,
  for (const char* op : {SHUNT_BENCH_OPERATORS(SHUNT_NAME)})
#undef SHUNT_NAME
    for (const int64_t numel : {1, 16, 64, 1024, 16384, 1 << 20})
      for (const Mode mode : {Mode::kNoGrad, Mode::kGrad, Mode::kAutocast}) out.push_back({op, numel, mode});
  for (const int64_t batch : {32, 1}) out.push_back({kDigitsStep, batch, Mode::kGrad});
  out.push_back({kDigitsConvStep, 32, Mode::kGrad});
  return out;
}

}  // namespace bench
