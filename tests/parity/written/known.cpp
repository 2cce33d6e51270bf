#include "tests/parity/written/known.h"

#include "tests/parity/rules.h"

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace parity::programs {
namespace {

std::string trimmed(const std::string& s) {
  const size_t from = s.find_first_not_of(' '), to = s.find_last_not_of(' ');
  return from == std::string::npos ? "" : s.substr(from, to - from + 1);
}

}  // namespace

bool fits(const std::string& pattern, const std::string& text) { return globMatches(pattern, text); }

KnownDifferences::KnownDifferences(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path);
  for (std::string text; std::getline(in, text);) {
    if (trimmed(text).empty() || text[0] == '#') continue;
    std::vector<std::string> columns;
    std::istringstream split(text);
    for (std::string column; std::getline(split, column, '|');) columns.push_back(trimmed(column));
    if (columns.size() != 4 || columns[3].empty())
      throw std::runtime_error(path + ": expected program | Shunt's line | libtorch's line | reason, got: " + text);
    lines_.push_back({columns[0], columns[1], columns[2], text});
  }
}

bool KnownDifferences::covers(const std::string& program, const std::string& shunt, const std::string& torch) const {
  for (const Line& line : lines_) {
    if (!fits(line.program, program) || !fits(line.shunt, shunt) || !fits(line.torch, torch)) continue;
    ++line.hits;
    return true;
  }
  return false;
}

std::vector<std::string> KnownDifferences::idle() const {
  std::vector<std::string> result;
  for (const Line& line : lines_)
    if (line.hits == 0) result.push_back(line.text);
  return result;
}

}  // namespace parity::programs
