// What bench_compile measures: functions of tensors, to be run as they are and by a plan of their trace, and the bar
// that the plan has to reach.
#pragma once

#include <shunt/shunt.h>

#include <functional>
#include <string>
#include <vector>

namespace bench {

using Function = std::function<std::vector<shunt::Tensor>(const std::vector<shunt::Tensor>&)>;

struct CompileRow {
  std::string name;
  double most;  // of the plan's time over eager code's
  Function function;
  std::vector<shunt::Tensor> inputs;
};

/// Each with tensors of its own.
std::vector<CompileRow> compileRows();

}  // namespace bench
