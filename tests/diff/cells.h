// Which operators, dtypes and forms are tried, and the cases of each, arranged by the pair that they share.
#pragma once

#include "tests/diff/runner.h"

#include <shunt/core/function_schema.h>

#include <string>
#include <vector>

namespace diff {

struct Options {
  uint64_t seed = 0;
  std::string op = "*", dtype = "*", form = "*";
  int dtypes = 1;    // of each operator and form, drawn by the seed
  size_t cells = 0;  // of those, drawn by the seed; 0: all
  int pairs = 1;     // of each cell
  int cases = 20;    // of each pair
  bool stats = false;
};

struct Cell {
  shunt::FunctionSchema schema;
  int dtype;
  Form form;
  std::string flags(const Options& options) const;  // that run it alone
};

std::vector<Cell> planCells(const Options& options);

/// Cases that one thunk is for, with what the interpreter makes of them. The first does not throw where any doesn't.
struct Group {
  PairKey pair;
  std::vector<parity::Case> cases;
  std::vector<parity::Outcome> expected;
};

/// Runs everything, so only while the compiler is off.
std::vector<Group> drawGroups(const Cell& cell, const Options& options);

}  // namespace diff
