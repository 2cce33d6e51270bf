// Makes calls run in thunks, before they are measured.
#pragma once

#include "bench/calls/cases.h"

#include <memory>

namespace bench {

using Make = std::unique_ptr<Call> (*)(const Case&);

/// Few calls make a pair hot here, since turning the compiler off and on between repetitions drops all thunks.
inline constexpr int kThreshold = 8;

/// Runs until the call, and every operator inside it that gets hot, goes through a thunk; false when none does.
bool compile(Call& call);

/// Starts the program again with these settings, unless they hold already: Shunt reads its environment before main.
void startAgainWith(std::initializer_list<std::pair<const char*, std::string>> settings, char** argv);

}  // namespace bench
