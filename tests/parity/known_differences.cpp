#include "tests/parity/known_differences.h"

#include "tests/parity/rules.h"

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace parity {
namespace {

std::string trimmed(const std::string& s) {
  const size_t from = s.find_first_not_of(" \t"), to = s.find_last_not_of(" \t");
  return from == std::string::npos ? "" : s.substr(from, to - from + 1);
}

// Comma-separated globs.
bool anyMatches(const std::string& patterns, const std::string& text) {
  std::istringstream in(patterns);
  for (std::string p; std::getline(in, p, ',');)
    if (globMatches(trimmed(p), text)) return true;
  return false;
}

}  // namespace

KnownDifferences::KnownDifferences(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path);
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (trimmed(line).empty() || trimmed(line)[0] == '#') continue;
    std::vector<std::string> columns;
    std::istringstream split(line);
    for (std::string column; std::getline(split, column, '|');) columns.push_back(trimmed(column));
    if (columns.size() != 5 || columns[4].empty())
      throw std::runtime_error(path + ":" + std::to_string(number) + ": expected operator | dtypes | what | message | reason");
    if (columns[4].starts_with("float64:") && columns[2].find("values") == std::string::npos)
      throw std::runtime_error(path + ":" + std::to_string(number) + ": float64 confirms values, not " + columns[2]);
    lines_.push_back({columns[0], columns[1], columns[2], columns[3], columns[4], number});
  }
}

const KnownDifference* KnownDifferences::covers(const Case& c, const std::string& dtype, const Difference& d) const {
  std::string name = c.name.substr(c.name.find("::") + 2), full = name + "." + c.overload;
  for (const KnownDifference& k : lines_) {
    if (!anyMatches(k.op, name) && !anyMatches(k.op, full)) continue;
    if (!anyMatches(k.dtypes, dtype) || !anyMatches(k.what, d.what)) continue;
    if (k.message != "*" && d.detail.find(k.message) == std::string::npos) continue;
    ++k.hits;
    return &k;
  }
  return nullptr;
}

const KnownDifference* KnownDifferences::coversText(const std::string& code, const std::string& what, const std::string& detail) const {
  for (const KnownDifference& k : lines_) {
    if (code.find(k.op) == std::string::npos && k.op != "*") continue;
    if (!anyMatches(k.what, what) || (k.message != "*" && detail.find(k.message) == std::string::npos)) continue;
    ++k.hits;
    return &k;
  }
  return nullptr;
}

}  // namespace parity
