// Counts calls by operator; print() lists the most frequent first.
#pragma once

#include "examples/modes/arguments.h"

#include <algorithm>
#include <map>
#include <vector>

namespace examples {

class CountingMode : public shunt::DispatchMode {
 public:
  std::string name() const override { return "CountingMode"; }

  void handle(const shunt::OperatorHandle& op, shunt::Stack* stack) override {
    ++calls_[op.operator_name().str()];
    op.callBoxed(stack);
  }

  void print(std::ostream& out) const {
    std::vector<std::pair<std::string, int64_t>> sorted(calls_.begin(), calls_.end());
    std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
      return std::pair(-a.second, a.first) < std::pair(-b.second, b.first);
    });
    for (const auto& [op, calls] : sorted) out << op << ": " << calls << (calls == 1 ? " call\n" : " calls\n");
  }

 private:
  std::map<std::string, int64_t> calls_;
};

}  // namespace examples
