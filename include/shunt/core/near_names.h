// Which of the names that exist a misspelt one may mean: for the messages of lookups that found nothing. Any thread.
#pragma once

#include <shunt/core/macros.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::detail {

/// Insertions, deletions, substitutions and swaps of two adjacent letters (optimal string alignment) between two names,
/// upper and lower case alike.
SHUNT_API size_t spellingDistance(std::string_view a, std::string_view b);

/// The known names that differ from `name` in at most a third of its letters (and 4), the nearest first, then in the
/// order given: those of the least distance and of one more, no more than `most`, each once, and never `name` itself.
SHUNT_API std::vector<std::string> nearNames(std::string_view name, const std::vector<std::string>& known,
                                             size_t most = 3);

/// "; did you mean 'a' or 'b'?", or nothing where there are no names: the end of a message.
SHUNT_API std::string didYouMean(const std::vector<std::string>& near);
/// The same for those of the known names that are near.
SHUNT_API std::string didYouMean(std::string_view name, const std::vector<std::string>& known);

}  // namespace shunt::detail
