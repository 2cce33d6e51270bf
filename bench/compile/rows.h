// What bench_compile measures: functions of tensors, to be run as they are and compiled, and the bar that the compiled
// one has to reach.
#pragma once

#include <shunt/shunt.h>

#include <functional>
#include <string>
#include <vector>

namespace bench {

using Function = std::function<std::vector<shunt::Tensor>(const std::vector<shunt::Tensor>&)>;

struct CompileRow {
  std::string name;
  double most;  // of its time over eager code's
  Function function;
  std::vector<shunt::Tensor> inputs;
};

/// Each with tensors of its own.
std::vector<CompileRow> compileRows();

}  // namespace bench
