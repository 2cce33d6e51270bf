#include "tests/parity/known_differences.h"

#include "tests/parity/rules.h"
#include "tests/support/table_file.h"

namespace parity {

using shunt::test::containsParts;

KnownDifferences::KnownDifferences(const std::string& path) {
  for (auto& [columns, where, line] : shunt::test::readTable(path, "operator | dtypes | what | message | reason")) {
    if (columns[4].starts_with("float64:") && columns[2].find("values") == std::string::npos)
      throw std::runtime_error(where + ": float64 confirms values, not " + columns[2]);
    lines_.push_back({columns[0], columns[1], columns[2], columns[3], columns[4], line, {}});
  }
}

const KnownDifference* KnownDifferences::covers(const Case& c, const std::string& dtype, const Difference& d,
                                                const std::function<bool()>& confirmed) const {
  std::string name = c.name.substr(c.name.find("::") + 2), full = name + "." + c.overload;
  for (const KnownDifference& k : lines_) {
    if (!anyGlobMatches(k.op, name) && !anyGlobMatches(k.op, full)) continue;
    if (!anyGlobMatches(k.dtypes, dtype) || !anyGlobMatches(k.what, d.what)) continue;
    if (!containsParts(d.detail, k.message)) continue;
    if (k.reason.starts_with("float64:") && !confirmed()) continue;
    ++k.hits[full];
    return &k;
  }
  return nullptr;
}

const KnownDifference* KnownDifferences::coversText(const std::string& code, const std::string& what,
                                                    const std::string& detail) const {
  for (const KnownDifference& k : lines_) {
    if (!containsParts(code, k.op)) continue;
    if (!anyGlobMatches(k.what, what) || !containsParts(detail, k.message)) continue;
    ++k.hits[code];
    return &k;
  }
  return nullptr;
}

}  // namespace parity
