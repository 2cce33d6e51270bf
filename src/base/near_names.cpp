#include <shunt/core/near_names.h>

#include <algorithm>
#include <numeric>

namespace shunt::detail {
namespace {

char lowered(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// One letter of two to four, two of five to seven, ...: more would offer words that have nothing in common.
size_t farthest(std::string_view name) { return std::min<size_t>((name.size() + 1) / 3, 4); }

}  // namespace

size_t spellingDistance(std::string_view a, std::string_view b) {
  // Rows of the table of distances between prefixes: the last two, for swaps, and the one that is being filled.
  std::vector<size_t> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const bool same = lowered(a[i - 1]) == lowered(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && lowered(a[i - 1]) == lowered(b[j - 2]) && lowered(a[i - 2]) == lowered(b[j - 1]))
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::vector<std::string> nearNames(std::string_view name, const std::vector<std::string>& known, size_t most) {
  struct Near {
    size_t distance;
    const std::string* name;
  };
  std::vector<Near> near;
  for (const std::string& other : known) {
    const size_t difference = std::max(name.size(), other.size()) - std::min(name.size(), other.size());
    if (other == name || difference > farthest(name)) continue;
    if (const size_t d = spellingDistance(name, other); d <= farthest(name)) near.push_back({d, &other});
  }
  std::sort(near.begin(), near.end(),  // names in the order given, which are their places in one vector
            [](const Near& a, const Near& b) { return std::pair(a.distance, a.name) < std::pair(b.distance, b.name); });
  std::vector<std::string> names;
  for (const Near& n : near)
    if (names.size() < most && n.distance <= near.front().distance + 1 &&
        std::find(names.begin(), names.end(), *n.name) == names.end())
      names.push_back(*n.name);
  return names;
}

std::string didYouMean(const std::vector<std::string>& near) {
  std::string text;
  for (const std::string& name : near) text += (text.empty() ? "'" : " or '") + name + "'";
  return text.empty() ? text : "; did you mean " + text + "?";
}

std::string didYouMean(std::string_view name, const std::vector<std::string>& known) {
  return didYouMean(nearNames(name, known));
}

}  // namespace shunt::detail
