// Text files that are tables, such as the lists of known differences: a row a line, columns between '|', '#' begins a
// comment line. Pure functions.
#pragma once

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace shunt::test {

struct TableRow {
  std::vector<std::string> columns;  // without the spaces around them
  std::string where;                 // "file:line", for messages
  int line = 0;
};

inline std::string trimmed(const std::string& s) {
  const size_t from = s.find_first_not_of(" \t"), to = s.find_last_not_of(" \t");
  return from == std::string::npos ? "" : s.substr(from, to - from + 1);
}

inline std::vector<std::string> splitAt(const std::string& separator, const std::string& s) {
  std::vector<std::string> parts;
  size_t from = 0;
  for (size_t to; (to = s.find(separator, from)) != std::string::npos; from = to + separator.size())
    parts.push_back(s.substr(from, to - from));
  parts.push_back(s.substr(from));
  return parts;
}

/// Throws where the file can't be read, a row has another number of columns than `header` ("operator | reason"), or its
/// last column is empty.
inline std::vector<TableRow> readTable(const std::string& path, const std::string& header) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path);
  const size_t width = splitAt("|", header).size();
  std::vector<TableRow> rows;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (trimmed(line).empty() || trimmed(line)[0] == '#') continue;
    TableRow row{{}, path + ":" + std::to_string(number), number};
    for (const std::string& column : splitAt("|", line)) row.columns.push_back(trimmed(column));
    if (row.columns.size() != width || row.columns.back().empty())
      throw std::runtime_error(row.where + ": expected " + header + ", got: " + line);
    rows.push_back(std::move(row));
  }
  return rows;
}

/// Whether `text` contains what a column asks for: "a & b / c" is a, and b or c; "*" is anything.
inline bool containsParts(const std::string& text, const std::string& asked) {
  return asked == "*" || std::ranges::all_of(splitAt(" & ", asked), [&](const std::string& all) {
           return std::ranges::any_of(splitAt(" / ", all),
                                      [&](const std::string& any) { return text.find(any) != std::string::npos; });
         });
}

}  // namespace shunt::test
