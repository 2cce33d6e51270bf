// Programs from seeds, as C++ text, and made smaller. Uses Shunt's interpreter; one thread.
#pragma once

#include "tests/parity_programs/program.h"

#include <functional>

namespace parity_programs {

/// A program most of whose steps run.
Program draw(uint64_t seed);
std::string codeOf(const Program& program);
/// Leaves out steps and guards as long as it `differs`.
Program shrunk(Program program, const std::function<bool(const Program&)>& differs);

}  // namespace parity_programs
