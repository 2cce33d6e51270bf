// bin/fake: shapes and a whole training step without memory or a device.
#include "examples/fake/model.h"
#include "examples/parts.h"

#include <shunt/shunt.h>
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

/// What does a program on a device that this machine lacks give?
void device() {
  const Tensor x = randn({8, 1000}).requires_grad_();  // real
  FakeTensorMode mode;
  const Tensor w = empty({1000, 10}, TensorOptions().device(kCUDA));
  const Tensor fake = mode.from_tensor(x);
  examples::show(fake.requires_grad() && fake.is_leaf() && is_fake(fake), "a fake copy of a real leaf");
  examples::show(mode.from_tensor(x).is_same(fake), "the same tensor gives the same fake tensor");
  fake.to(kCUDA).mm(w).sum().backward();
  std::cout << "the gradient: " << fake.grad() << '\n';
  try {
    w.sum().item();
    examples::show(false, "item() of a fake tensor is an error");
  } catch (const Error& e) {
    std::cout << e.what() << '\n';
  }
}

SHUNT_LIBRARY(fake_example, m) {
  m.def("pool(Tensor x, int n) -> Tensor");
  m.def("no_meta(Tensor x) -> Tensor");
}
SHUNT_LIBRARY_IMPL(fake_example, CPU, m) {
  m.impl("pool", [](const Tensor& x, int64_t n) { return x.reshape({-1, n}).sum(1); });
  m.impl("no_meta", [](const Tensor& x) { return x.clone(); });
}
SHUNT_LIBRARY_IMPL(fake_example, Meta, m) {
  m.impl("pool", [](const Tensor& x, int64_t n) { return empty({x.numel() / n}, x.options()); });
}

/// What does a custom operator need?
void customOperator() {
  const auto find = [](const char* name) { return Dispatcher::singleton().findSchemaOrThrow(name); };
  const auto pool = find("fake_example::pool").typed<Tensor(const Tensor&, int64_t)>();
  const auto no_meta = find("fake_example::no_meta").typed<Tensor(const Tensor&)>();
  const FakeTensorMode mode;
  const Tensor y = pool.call(empty({4, 6}), 3);
  examples::show(is_fake(y) && y.sizes() == IntArrayRef({8}), "with a Meta kernel: the shape, (8)");
  try {
    no_meta.call(empty({4}));
    examples::show(false, "without one: an error");
  } catch (const Error& e) {
    std::cout << "without one: " << e.what() << '\n';
  }
}

}  // namespace

int main(int argc, char** argv) {
  return examples::runParts(argc, argv, "fake",
                            {{"shape", &shape},
                             {"step", &step},
                             {"error", &error},
                             {"device", &device},
                             {"custom_operator", &customOperator}});
}
