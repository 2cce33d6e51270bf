// What bench_compile measures: functions of tensors, to be run as they are and compiled, and written by hand, and the
// bars that the compiled one has to reach.
#pragma once

#include <shunt/shunt.h>

#include <functional>
#include <string>
#include <vector>

namespace bench {

using Function = std::function<std::vector<shunt::Tensor>(const std::vector<shunt::Tensor>&)>;

/// The compiled function may take `ratio` times the hand-written one's time, or that time and `nanoseconds`; 0: no bar.
struct HandBar {
  double ratio = 0, nanoseconds = 0;
};

struct CompileRow {
  std::string name;
  Function function;
  std::vector<shunt::Tensor> inputs;
  Function by_hand = nullptr;  // the same work to the same bits; null: there is none
  HandBar hand_bar = {};
  /// What a call writes besides its results; some may be undefined before the first.
  std::function<std::vector<shunt::Tensor>()> written = [] { return std::vector<shunt::Tensor>(); };
  /// What the caller does with the results, compiled or not: part of the time.
  std::function<void(const std::vector<shunt::Tensor>&, const std::vector<shunt::Tensor>&)> after = nullptr;
};

/// Each with tensors of its own.
std::vector<CompileRow> compileRows();

/// Prints and judges what the graph, plan and loops of kDigitsRow cost (bench/thunks/row.h).
void cacheBars(const std::vector<CompileRow>& rows);
inline constexpr const char* kDigitsRow = "digits step, batch 32";

}  // namespace bench
