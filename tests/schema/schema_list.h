// The list of real signatures (schemas.txt) that the schema tests share.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

namespace shunt::test {

inline const std::vector<std::string>& schemaList() {
  static const std::vector<std::string> list = [] {
    std::vector<std::string> lines;
    std::ifstream in(SHUNT_SCHEMA_LIST);
    for (std::string line; std::getline(in, line);) {
      if (!line.empty() && line.front() != '#') lines.push_back(line);
    }
    EXPECT_GE(lines.size(), 400u) << "can't read " << SHUNT_SCHEMA_LIST;
    return lines;
  }();
  return list;
}

}  // namespace shunt::test
