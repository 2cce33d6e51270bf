#include "tests/parity/written/known.h"

#include "tests/parity/rules.h"
#include "tests/support/table_file.h"

namespace parity::programs {

KnownDifferences::KnownDifferences(const std::string& path) {
  for (const auto& [columns, where, number] :
       shunt::test::readTable(path, "program | Shunt's line | libtorch's line | reason"))
    lines_.push_back({columns[0], columns[1], columns[2], where, 0});
}

bool KnownDifferences::covers(const std::string& program, const std::string& shunt, const std::string& torch) const {
  for (const Line& line : lines_) {
    if (!globMatches(line.program, program) || !globMatches(line.shunt, shunt) || !globMatches(line.torch, torch))
      continue;
    ++line.hits;
    return true;
  }
  return false;
}

std::vector<std::string> KnownDifferences::idle() const {
  std::vector<std::string> result;
  for (const Line& line : lines_)
    if (line.hits == 0) result.push_back(line.where);
  return result;
}

}  // namespace parity::programs
