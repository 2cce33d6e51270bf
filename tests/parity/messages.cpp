#include "tests/parity/messages.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <vector>

namespace parity {
namespace {

// libtorch appends where it threw; Shunt, after " (in ", which operators ran.
std::string said(const std::string& message) {
  std::string text = message.substr(0, message.find("\nException raised from"));
  text = text.substr(0, text.find(" (in aten::"));
  text = text.substr(0, text.find('\n'));
  // One counts arguments from 1, the other from 0.
  for (const std::string before : {"(position ", "argument #"})
    if (const size_t at = text.find(before); at != std::string::npos) text.erase(at + before.size(), 1);
  return text;
}

struct Words {
  std::multiset<std::string> numbers;
  std::set<std::string> names;
};

const std::set<std::string> kEveryday = {
    "a",   "an",       "the",     "of",   "to",     "is",     "in",    "for", "that", "this", "be",   "and",
    "or",  "but",      "with",    "on",   "has",    "have",   "it",    "its", "at",   "by",   "as",   "not",
    "no",  "only",     "must",    "can",  "cannot", "t",      "are",   "was", "got",  "from", "been", "found",
    "all", "expected", "instead", "does", "do",     "should", "which", "you", "your", "if",   "than", "same"};

Words wordsOf(const std::string& text) {
  Words words;
  for (size_t at = 0; at < text.size();) {
    const auto isWord = [&](size_t i) {
      return i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) || text[i] == '_');
    };
    size_t end = at;
    while (isWord(end)) ++end;
    if (end == at) {
      ++at;
      continue;
    }
    std::string word = text.substr(at, end - at);
    std::ranges::transform(word, word.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (std::ranges::all_of(word, [](unsigned char c) { return std::isdigit(c); }))
      words.numbers.insert(word);
    else if (kEveryday.count(word) == 0)
      words.names.insert(word);
    at = end;
  }
  return words;
}

}  // namespace

bool sameMessage(const std::string& shunt, const std::string& torch) {
  const Words a = wordsOf(said(shunt)), b = wordsOf(said(torch));
  // Shunt's messages name more: every number of libtorch's has to be among them, where both give numbers.
  const bool numbers = a.numbers.empty() || b.numbers.empty() || std::ranges::includes(a.numbers, b.numbers) ||
                       std::ranges::includes(b.numbers, a.numbers);
  const bool names = std::ranges::any_of(b.names, [&](const std::string& n) { return a.names.count(n) != 0; });
  return numbers && (names || a.names.empty() || b.names.empty());
}

}  // namespace parity
