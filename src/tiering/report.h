// The report of SHUNT_STATS=<file>: written at exit, and while the program runs once a second by the compiler's thread
// when that has nothing else to do, so that bin/shunt can read a running program's.
#pragma once

#include <chrono>

namespace shunt::jit::report {

inline constexpr std::chrono::seconds kInterval{1};

/// Whether there is a file to keep up to date.
bool wantedMeanwhile();
/// Trouble with the file is logged once. One thread at a time: the compiler's, or the one that exits when that has
/// gone.
void write() noexcept;

}  // namespace shunt::jit::report
