// What tensor subclasses are for. `subclasses` runs all examples; `subclasses NAME` one.
#include "examples/parts.h"
#include "examples/subclasses/doubled.h"
#include "examples/subclasses/lazy.h"
#include "examples/subclasses/logging.h"
#include "examples/subclasses/low_precision.h"
#include "examples/subclasses/many_models.h"
#include "examples/subclasses/masked.h"
#include "examples/subclasses/matrix.h"
#include "examples/subclasses/on_disk.h"

#include <unistd.h>

#include <filesystem>
#include <functional>

namespace {

using namespace examples;
using shunt::Tensor;
using shunt::wrap;

Tensor numbers(shunt::IntArrayRef sizes) {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  return (shunt::arange(n, shunt::kFloat) * 0.7).sin().reshape(sizes);
}

double distance(const Tensor& a, const Tensor& b) { return (a - b).abs().max().item<double>(); }

void refused(const std::function<void()>& call) {
  try {
    call();
    std::cout << "not refused\n";
  } catch (const shunt::Error& e) {
    std::cout << e.what() << '\n';
  }
}

void logging() {
  const Tensor x = wrap<LoggingTensor>(numbers({3, 4}));
  const Tensor y = (x + 1).relu();
  std::cout << "y is " << y << '\n';
  const Tensor w = wrap<LoggingTensor>(numbers({2, 4}).requires_grad_());
  linear(x, w).sum().backward();
  std::cout << "w.grad is " << w.grad() << '\n';
}

void masked() {
  const Tensor data = shunt::arange(6, shunt::kFloat).view({2, 3});
  const Tensor x = wrap<MaskedTensor>(data, data.ne(4));
  std::cout << "sum " << x.sum().item() << ", mean " << x.mean().item() << ", means of columns " << x.mean({0}) << '\n';
  std::cout << "of the doubled: " << (x * 2 + x).mean().item() << '\n';
  refused([&] { x.exp(); });
  refused([&] {
    Tensor out = x * 1;
    add_out(out, x, x);
  });
}

void lowPrecision() {
  const Tensor x = numbers({8, 64}), weight = numbers({32, 64});
  const Tensor w = wrap<Int8Weight>(weight);
  const double error = distance(linear(x, w), linear(x, weight));
  std::cout << shunt::wrapper_cast<Int8Weight>(w)->bytes() << " bytes instead of " << weight.nbytes()
            << ", largest difference " << (error > 0 && error < 0.1 ? "small" : "large") << '\n';
}

void report(const char* what, const Tensor& mine, const Tensor& full, int64_t flops_full) {
  std::cout << what << ": " << StructuredMatrix::flops.flops << " floating-point operations instead of " << flops_full
            << ", " << (distance(mine, full) < 1e-3 ? "same" : "different") << " result\n";
  StructuredMatrix::flops.flops = 0;
}

void lowRank() {
  const Tensor u = numbers({100, 4}), v = numbers({4, 200}), x = numbers({10, 200});
  report("low rank", linear(x, wrap<LowRankTensor>(u, v)), linear(x, u.mm(v)), 2 * 10 * 100 * 200);
}

void diagonal() {
  const Tensor d = numbers({100}), x = numbers({100, 100});
  report("diagonal", wrap<DiagonalTensor>(d).mm(x), d.unsqueeze(1) * x, int64_t{2} * 100 * 100 * 100);
}

void onDisk() {
  const Tensor plain = numbers({4, 4});
  Tensor x =
      wrap<OnDiskTensor>(plain, std::filesystem::temp_directory_path() / ("shunt_example_" + std::to_string(getpid())));
  std::cout << "shape " << x.sizes() << " after " << OnDiskTensor::loads << " loads\n";
  x.mul_(2);
  std::cout << (distance(x + 1, plain * 2 + 1) == 0 ? "same" : "different") << " result after " << OnDiskTensor::loads
            << " loads\n";
  refused([&] { x[0].mul_(5); });
}

void lazy() {
  const Tensor plain = numbers({3, 3});
  const Tensor x = wrap<LazyTensor>(plain);
  const Tensor y = x.mm(x).relu().sum();
  x.exp();
  std::cout << LazyTensor::recorded << " recorded, " << LazyTensor::executed << " executed\n";
  const bool same = y.item<float>() == plain.mm(plain).relu().sum().item<float>();
  std::cout << (same ? "same" : "different") << " result, " << LazyTensor::executed << " executed\n";
  std::cout << "y = " << y << '\n';
  const Tensor p = numbers({3});
  const Tensor z = x + p;
  p.mul_(10);
  refused([&] { z.toString(); });
  refused([&] { x + numbers({3}).requires_grad_(); });
}

void manyModels() {
  const Tensor w1 = numbers({5, 16, 8}).requires_grad_(), b1 = numbers({5, 16}), w2 = numbers({5, 2, 16}),
               x = numbers({4, 8});
  const auto model = [&](const Tensor& first, const Tensor& bias, const Tensor& second) {
    return linear(linear(x, first, bias).relu(), second);
  };
  const Tensor y = model(wrap<StackedTensor>(w1), wrap<StackedTensor>(b1), wrap<StackedTensor>(w2));
  double largest = 0;
  for (int64_t i = 0; i < 5; ++i)
    largest = std::max(largest, distance(shunt::unwrap<StackedTensor>(y)[i], model(w1[i], b1[i], w2[i])));
  std::cout << "5 models in one call, each " << (largest < 1e-5 ? "as" : "not as") << " by itself\n";
  shunt::unwrap<StackedTensor>(y).sum().backward();
  std::cout << "gradients of all: " << w1.grad().sizes() << '\n';
}

void ownGraph() {
  const Tensor half = numbers({2, 2});
  const Tensor x = make_class_tensor(std::make_shared<Doubled>(half), half.sizes(), half.strides(), 0, half.options());
  x.requires_grad_();
  const Tensor y = (x * x).sum();
  std::cout << "x * x is recorded on x itself: " << y.grad_fn()->name() << '\n';
  y.backward();
  std::cout << "the gradient " << (distance(x.grad(), half * 4) < 1e-6 ? "is 2 * x" : "is wrong") << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  return examples::runParts(argc, argv, "subclasses",
                            {
                                {"logging", &logging},
                                {"masked", &masked},
                                {"low_precision", &lowPrecision},
                                {"low_rank", &lowRank},
                                {"diagonal", &diagonal},
                                {"on_disk", &onDisk},
                                {"lazy", &lazy},
                                {"many_models", &manyModels},
                                {"own_graph", &ownGraph},
                            });
}
