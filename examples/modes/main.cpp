// Nine things to do with a dispatch mode. `modes` runs all of them on one small model; `modes NAME` one.
#include "examples/modes/conditional.h"
#include "examples/modes/flops.h"
#include "examples/modes/logging.h"
#include "examples/modes/profiling.h"
#include "examples/modes/replacement.h"
#include "examples/modes/stack_trace.h"
#include "examples/modes/statistics.h"
#include "examples/modes/validation.h"
#include "examples/parts.h"

#include <iostream>

namespace {

using shunt::DispatchModeGuard;
using shunt::Tensor;

struct Model {
  Tensor w1 = shunt::full({16, 8}, 0.1), b1 = shunt::zeros({16}), w2 = shunt::full({4, 16}, -0.2), b2 = shunt::ones({4});
  Tensor operator()(const Tensor& x) const { return shunt::linear(shunt::linear(x, w1, b1).relu(), w2, b2); }
};

const Model model;

Tensor input() { return shunt::arange(16, shunt::kFloat).view({2, 8}); }

void logging() {
  examples::LoggingMode mode(std::cout);
  const DispatchModeGuard guard(mode);
  model(input());
}

void profiling() {
  examples::ProfilingMode mode;
  {
    const DispatchModeGuard guard(mode);
    for (int i = 0; i < 100; ++i) model(input());
  }
  mode.report(std::cout);
}

void validation() {
  examples::ValidationMode mode(std::cout);
  const DispatchModeGuard guard(mode);
  Tensor x = input();
  model(x);
  model((x - 3).log());
  std::cout << mode.made() << " operator made a NaN\n";
}

void replacement() {
  examples::OwnMatmulMode mode;
  const DispatchModeGuard guard(mode);
  for (const auto dtype : {shunt::kFloat, shunt::kDouble}) {
    const Tensor x = input().to(dtype) / 7;
    x.mm(x.t());
  }
  std::cout << mode.replaced() << " products replaced, " << (mode.largest_difference() < 1e-4 ? "as" : "not as")
            << " the native ones\n";
}

void conditional() {
  examples::LargeCallsMode mode(1000, std::cout);
  const DispatchModeGuard guard(mode);
  model(input());
  shunt::ones({50, 40}).exp();
}

void statistics() {
  examples::StatisticsMode mode;
  {
    const DispatchModeGuard guard(mode);
    model(input());
  }
  for (const auto& [op, m] : mode.moments) std::cout << op << ": mean " << m.mean << ", std " << m.std << '\n';
}

void stackTrace() {
  examples::StackTraceMode mode("aten::relu", std::cout);
  const DispatchModeGuard guard(mode);
  model(input());
}

void flops() {
  examples::FlopMode mode;
  {
    const DispatchModeGuard guard(mode);
    model(input());
  }
  std::cout << mode.flops << " floating-point operations\n";
}

void nested() {
  examples::ProfilingMode outer;
  examples::LoggingMode inner(std::cout);
  const DispatchModeGuard first(outer), second(inner);
  model(input());
  std::cout << "the outer mode saw " << outer.calls("aten::linear") << " calls of linear\n";
}

}  // namespace

int main(int argc, char** argv) {
  return examples::runParts(argc, argv, "modes", {
      {"logging", &logging},         {"profiling", &profiling},     {"validation", &validation},
      {"replacement", &replacement}, {"conditional", &conditional}, {"statistics", &statistics},
      {"stack_trace", &stackTrace},  {"flops", &flops},             {"nested", &nested},
  });
}
