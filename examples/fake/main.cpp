// bin/fake: shapes and a whole training step without memory or a device.
#include "examples/fake/model.h"
#include "examples/parts.h"

#include <shunt/transforms/fake_tensor.h>

#include <fstream>
#include <iostream>
#include <string>

namespace {

using namespace shunt;

/// Anonymous memory of the process.
int64_t residentMiB() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("RssAnon:")) return std::stoll(line.substr(8)) / 1024;
  return 0;
}

/// What shape has it?
void shape() {
  const FakeTensorMode mode;
  const Tensor x = randn({100, 100});  // no memory
  const Tensor y = x.mm(x);            // no arithmetic
  std::cout << y.sizes() << '\n' << y << '\n';
}

/// Does it fit together, and how large is it all?
void step() {
  const int64_t before = residentMiB();
  const FakeTensorMode mode;
  const TensorOptions on_gpu = TensorOptions().device(kCUDA);
  const fake_example::Model model(4, 16000, 1000, on_gpu);
  fake_example::Adam adam(model.parameters());
  const Tensor x = randn({512, 16000}, on_gpu), target = randint(1000, {512}, on_gpu.dtype(kLong));
  const Tensor loss = cross_entropy_loss(model.forward(x), target);
  loss.backward();
  adam.step();
  std::cout << model.count() << " parameters on " << loss.device() << ", loss " << loss.sizes() << ", "
            << (residentMiB() - before < 64 ? "less than 64 MiB" : "too much memory") << '\n';
}

/// What is wrong with it?
void error() {
  const FakeTensorMode mode;
  try {
    randn({512, 16000}).mm(randn({1600, 100}));
  } catch (const Error& e) {
    std::cout << e.what() << '\n';
  }
}

}  // namespace

int main(int argc, char** argv) {
  return examples::runParts(argc, argv, "fake", {{"shape", &shape}, {"step", &step}, {"error", &error}});
}
