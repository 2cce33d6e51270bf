// Twelve things to do with a dispatch mode. `modes` runs all of them on one small model; `modes NAME` one.
#include "examples/modes/conditional.h"
#include "examples/modes/counting.h"
#include "examples/modes/flops.h"
#include "examples/modes/large_products.h"
#include "examples/modes/logging.h"
#include "examples/modes/profiling.h"
#include "examples/modes/rejecting.h"
#include "examples/modes/replacement.h"
#include "examples/modes/stack_trace.h"
#include "examples/modes/statistics.h"
#include "examples/modes/validation.h"
#include "examples/parts.h"

#include <functional>
#include <iostream>
#include <utility>

namespace {

using shunt::DispatchModeGuard;
using shunt::Tensor;

struct Model {
  Tensor w1 = shunt::full({16, 8}, 0.1), b1 = shunt::zeros({16}), w2 = shunt::full({4, 16}, -0.2),
         b2 = shunt::ones({4});
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

void counting() {
  examples::CountingMode mode;
  {
    const DispatchModeGuard guard(mode);
    for (int i = 0; i < 3; ++i) model(input());
  }
  mode.print(std::cout);
}

void validation() {
  examples::ValidationMode mode(std::cout);
  const DispatchModeGuard guard(mode);
  Tensor x = input();
  model(x);
  model((x - 3).log());
  std::cout << mode.made() << " operator made a NaN\n";
}

void rejecting() {
  examples::RejectingMode mode;
  const DispatchModeGuard guard(mode);
  for (const double offset : {0.0, 3.0}) try {
      model((input() - offset).log1p());
      std::cout << "no NaN\n";
    } catch (const std::domain_error& e) {
      std::cout << "caught: " << e.what() << '\n';
    }
}

struct Trained {
  double first_loss, last_loss;
  Tensor grad;  // of the weights, in the last step
};

/// Ten steps of gradient descent on a linear layer, written out.
Trained train(bool autocast) {
  const Tensor x = input() / 16, wanted = shunt::ones({2, 4});
  Tensor w = shunt::full({8, 4}, 0.1).requires_grad_(), b = shunt::zeros({4}).requires_grad_();
  Trained result{};
  for (int step = 0; step < 10; ++step) {
    Tensor loss;
    {
      const shunt::AutocastGuard guard(shunt::kCPU, shunt::kBFloat16, autocast);
      loss = (x.mm(w) + b - wanted).pow(2).mean();
    }
    loss.backward();
    result.last_loss = loss.item<double>();
    if (step == 0) result.first_loss = result.last_loss;
    const shunt::NoGradGuard no_grad;
    result.grad = w.grad().clone();
    for (Tensor* p : {&w, &b}) {
      p->sub_(p->grad());
      p->mutable_grad() = {};
    }
  }
  return result;
}

void replacement() {
  for (const bool autocast : {false, true}) {
    const Trained native = train(autocast);
    examples::OwnMatmulMode mode;
    const DispatchModeGuard guard(mode);
    const Trained own = train(autocast);
    const double apart = ((own.grad - native.grad).abs().max() / native.grad.abs().max()).item<double>();
    std::cout << (autocast ? "in autocast, " : "") << mode.replaced() << " products replaced, "
              << (mode.largest_error() <= 8 ? "as" : "not as") << " the native ones; the loss "
              << (own.last_loss < own.first_loss / 2 ? "falls" : "stays") << ", and the gradients are "
              << (apart < (autocast ? 0.05 : 1e-4) ? "the same" : "others") << '\n';
  }
}

void largeProducts() {
  const Tensor small = shunt::ones({8, 8}), large = shunt::ones({64, 64});
  const Tensor expected = large.mm(large);
  examples::LargeProductsMode mode(1024);
  const DispatchModeGuard guard(mode);
  small.mm(small);
  const Tensor product = large.mm(large);
  std::cout << mode.native << " product by the native kernel, " << mode.replaced << " by the mode's loops: "
            << (product.eq(expected).all().item<bool>() ? "the same result" : "another result") << '\n';
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
  const Tensor matrix = shunt::ones({2, 8}), vector = shunt::ones({8}), batch = shunt::ones({3, 8, 8});
  const std::pair<const char*, std::function<void()>> runs[] = {
      {"the model", [] { model(input()); }},
      {"mv", [&] { matrix.mv(vector); }},
      {"dot", [&] { vector.dot(vector); }},
      {"baddbmm", [&] { batch.baddbmm(batch, batch); }},
  };
  for (const auto& [name, run] : runs) {
    examples::FlopMode mode;
    const DispatchModeGuard guard(mode);
    run();
    std::cout << name << ": " << mode.flops << " floating-point operations\n";
  }
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
  return examples::runParts(argc, argv, "modes",
                            {
                                {"logging", &logging},
                                {"profiling", &profiling},
                                {"counting", &counting},
                                {"validation", &validation},
                                {"rejecting", &rejecting},
                                {"replacement", &replacement},
                                {"large_products", &largeProducts},
                                {"conditional", &conditional},
                                {"statistics", &statistics},
                                {"stack_trace", &stackTrace},
                                {"flops", &flops},
                                {"nested", &nested},
                            });
}
