// Counts and times every operator; the report lists the most expensive first.
#pragma once

#include "examples/modes/arguments.h"

#include <algorithm>
#include <chrono>
#include <iomanip>
#include <map>
#include <vector>

namespace examples {

class ProfilingMode : public shunt::DispatchMode {
 public:
  struct Row {
    int64_t calls = 0;
    std::chrono::nanoseconds time{};
  };
  std::string name() const override { return "ProfilingMode"; }

  void handle(const shunt::OperatorHandle& op, shunt::Stack* stack) override {
    const auto start = std::chrono::steady_clock::now();
    op.callBoxed(stack);
    Row& row = rows_[op.operator_name().str()];
    ++row.calls;
    row.time += std::chrono::steady_clock::now() - start;
  }

  int64_t calls(const std::string& op) const { return rows_.count(op) != 0 ? rows_.at(op).calls : 0; }

  void report(std::ostream& out) const {
    std::vector<std::pair<std::string, Row>> sorted(rows_.begin(), rows_.end());
    std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second.time > b.second.time; });
    out << std::left << std::setw(28) << "operator" << std::right << std::setw(8) << "calls" << std::setw(12)
        << "us a call\n";
    for (const auto& [op, row] : sorted)
      out << std::left << std::setw(28) << op << std::right << std::setw(8) << row.calls << std::setw(11) << std::fixed
          << std::setprecision(2)
          << std::chrono::duration<double, std::micro>(row.time).count() / static_cast<double>(row.calls) << '\n';
  }

 private:
  std::map<std::string, Row> rows_;
};

}  // namespace examples
