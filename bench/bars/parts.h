// The parts of bench_bars. Each runs in a process of its own, since Shunt reads its environment once, and prints its rows.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace bench {

using Settings = std::vector<std::pair<const char*, std::string>>;

/// Thunks against other code that does the same.
void ratioBars();
/// Calls that gain nothing from the compiler; exceptions.
void neverSlowerBars();
void compileTimeBars();
/// Under callgrind.
void instructionBars();
void memoryBars();
void growthBars();
void loadBars();
/// A dispatch mode that does nothing against none.
void modeBars();

}  // namespace bench
