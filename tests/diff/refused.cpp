#include "tests/diff/refused.h"

#include "tests/parity/rules.h"

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace diff {

RefusedList::RefusedList(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("can't read " + path);
  for (std::string text; std::getline(file, text);) {
    if (text.empty() || text[0] == '#') continue;
    Line line;
    std::istringstream in(text);
    in >> line.op >> line.form >> std::ws;
    std::getline(in, line.reason);
    if (line.reason.empty()) throw std::runtime_error(path + ": a line without a reason: " + text);
    lines_.push_back(std::move(line));
  }
}

bool RefusedList::covers(const std::string& op, const std::string& form, const std::string& reason) {
  bool covered = false;
  for (Line& line : lines_) {
    if (!parity::globMatches(line.op, op) || !parity::globMatches(line.form, form) ||
        !parity::globMatches(line.reason, reason))
      continue;
    ++line.hits;
    covered = true;
  }
  return covered;
}

std::vector<std::string> RefusedList::unused(const std::string& op) const {
  std::vector<std::string> out;
  for (const Line& line : lines_)
    if (line.hits == 0 && (op == "*" || line.op == op)) out.push_back(line.op + " " + line.form + " " + line.reason);
  return out;
}

}  // namespace diff
