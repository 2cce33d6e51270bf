// Whether two libraries' error messages say the same thing, in whatever words. Pure functions.
#pragma once

#include <string>

namespace parity {

/// The numbers of one are among those of the other, where both give any, and some word but everyday ones stands in
/// both, as the names of operators and arguments do. Only the first line counts, without the places and the operators
/// that follow it.
bool sameMessage(const std::string& shunt, const std::string& torch);

}  // namespace parity
