// The parts of bench_bars. Each runs in a process of its own, since Shunt reads its environment once, and prints its
// rows.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace bench {

using Settings = std::vector<std::pair<const char*, std::string>>;

/// Thunks against other code that does the same.
void ratioBars();
/// Those against loops with AVX2.
void avx2RatioBars();
/// What these two ask a process with the default settings for: lines of a row's name, a tab and the ratio.
void ratiosByDefault();
void avx2RatiosByDefault();
inline constexpr const char *kRatiosByDefault = "ratios by default", *kAvx2RatiosByDefault = "AVX2 ratios by default";
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
/// vmap and grad against calls one by one, and against a batched call.
void transformBars();

}  // namespace bench
