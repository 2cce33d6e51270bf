// Suggestions for misspelt names, for the messages of failed lookups. Pure functions; any thread.
#pragma once

#include <shunt/core/macros.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::detail {

/// The edit distance (optimal string alignment): insertions, deletions, substitutions and swaps of two adjacent letters
/// count 1 each; case doesn't count.
SHUNT_API size_t spellingDistance(std::string_view a, std::string_view b);

/// The known names nearest to `name`, at most `most`, each once, nearest first, equally near ones in the given order.
/// - Their distance is at most a third of the letters of `name`, rounded, and at most 4.
/// - It is at most 1 more than that of the nearest.
/// - `name` itself is never among them.
SHUNT_API std::vector<std::string> nearNames(std::string_view name, const std::vector<std::string>& known,
                                             size_t most = 3);

/// The end of a message: "; did you mean 'a' or 'b'?", or "" if there are no names.
SHUNT_API std::string didYouMean(const std::vector<std::string>& near);
/// The same for nearNames(name, known).
SHUNT_API std::string didYouMean(std::string_view name, const std::vector<std::string>& known);

}  // namespace shunt::detail
