// compile(): functions that are called again and again, as graphs.
//
//   compile [function | training | pendulums | modes | reasons | outside | captures]
#include "examples/compile/checks.h"
#include "examples/compile/modes.h"
#include "examples/digits/data.h"
#include "examples/digits/model.h"
#include "examples/parts.h"

#include <shunt/shunt.h>

#include <iostream>

namespace {

using shunt::Tensor;

// In a program that runs so briefly nothing would be recorded by itself.
const shunt::CompileOptions kAtOnce{.record_after = 1};

bool same(const Tensor& a, const Tensor& b) { return a.eq(b).all().item<bool>(); }

void function() {
  const Tensor w = shunt::randn({4, 3});
  const auto layer = [&](const Tensor& x) { return (x.mm(w) * 2).relu(); };
  const auto fast = shunt::compile(layer, {.record_after = 1, .name = "layer"});
  bool all = true;
  for (const int64_t rows : {2, 2, 2, 5, 5, 5}) {
    const Tensor x = shunt::randn({rows, 4});
    all &= same(fast(x), layer(x));
  }
  std::cout << fast.explain() << fast.graph()->print() << (all ? "the same bits" : "other bits") << '\n';
}

/// Forward, backward and update in one function: the weights that it captures are written by each call.
struct Training {
  digits::Net net{1};
  digits::SGD optimizer{net.parameters(), 0.05, 0.9};

  Tensor step(const Tensor& x, const Tensor& y) {
    optimizer.zero_grad();
    const Tensor loss = shunt::cross_entropy_loss(net.forward(x), y);
    loss.backward();
    optimizer.step();
    return loss;
  }
};

void training() {
  constexpr int64_t kBatch = 30;
  const digits::Data data = digits::load(SHUNT_DIGITS_DATA);
  const Tensor images = shunt::tensor(data.images).view({digits::kRows, digits::kPixels});
  const Tensor labels = shunt::tensor(data.labels);
  Training plain, other;
  const auto fast = shunt::compile([&](const Tensor& x, const Tensor& y) { return other.step(x, y); }, kAtOnce);
  for (int epoch = 0; epoch < 10; ++epoch)
    for (int64_t first = 0; first < digits::kTrainRows; first += kBatch) {
      const Tensor x = images.narrow(0, first, kBatch), y = labels.narrow(0, first, kBatch);
      plain.step(x, y);
      fast(x, y);
    }
  const shunt::NoGradGuard no_grad;
  const int64_t tests = digits::kRows - digits::kTrainRows;
  const Tensor guess = other.net.forward(images.narrow(0, digits::kTrainRows, tests)).argmax(1);
  const double accuracy = guess.eq(labels.narrow(0, digits::kTrainRows, tests)).sum().item<double>() / tests;
  std::cout << fast.counts().hits << " of 500 steps ran the graph of " << fast.graph()->nodes().size()
            << " operators\naccuracy " << (accuracy > 0.85 ? "above" : "below") << " 0.85\nweights: "
            << (same(plain.net.w1, other.net.w1) && same(plain.net.w2, other.net.w2) ? "the same bits" : "other bits")
            << '\n';
}

/// A damped pendulum (angle and speed) over one step of Heun's method, written for one and run for 256.
Tensor swing(const Tensor& state, const Tensor& damping) {
  constexpr double kStep = 0.01;
  const auto change = [&](const Tensor& s) { return shunt::stack({s[1], -s[0].sin() - damping * s[1]}); };
  const Tensor k1 = change(state), k2 = change(state + k1 * kStep);
  return state + (k1 + k2) * (kStep / 2);
}

void pendulums() {
  constexpr int64_t kCount = 256;
  const Tensor damping = shunt::linspace(0, 1, kCount);
  const auto plain = shunt::vmap(swing);
  const auto fast = shunt::compile(plain, kAtOnce);
  Tensor a = shunt::stack({shunt::linspace(-3, 3, kCount), shunt::zeros({kCount})}, 1), b = a;
  for (int i = 0; i < 100; ++i) {
    a = plain(a, damping);
    b = fast(b, damping);
  }
  std::cout << fast.counts().hits << " of 100 steps ran a graph: " << (same(a, b) ? "the same bits" : "other bits")
            << '\n';
}

/// Why a function has no graph, and what helps: explain() says so.
void reasons() {
  const Tensor x = shunt::ones({3});
  const auto scaled = [](const Tensor& a, double k) { return a * k; };
  const auto by_number = shunt::compile(scaled, {.record_after = 1, .name = "number"});
  const auto by_tensor = shunt::compile([](const Tensor& a, const Tensor& k) { return a * k; },
                                        {.record_after = 1, .name = "0-dim tensor"});
  for (int i = 0; i < 6; ++i) {
    by_number(x, 0.1 * i);
    by_tensor(x, shunt::full({}, 0.1 * i));
  }
  std::cout << by_number.explain() << by_tensor.counts().hits << " of 6 calls ran the graph with a 0-dim tensor\n";
}

}  // namespace

int main(int argc, char** argv) {
  return examples::runParts(argc, argv, "compile",
                            {{"function", function},
                             {"training", training},
                             {"pendulums", pendulums},
                             {"modes", examples::modes},
                             {"reasons", reasons},
                             {"outside", examples::outside},
                             {"captures", examples::captures}});
}
