// Trains the digits classifier on the CPU and on the device of a backend library, which this program knows by its path
// only, and compares. Usage: train_on_opencl <libopencl_backend.so> <digits.csv.gz>
#include "edges.h"
#include "examples/digits/data.h"
#include "examples/digits/model.h"
#include "pairs.h"

#include <shunt/backend.h>

#include <cmath>
#include <cstdio>
#include <iostream>

namespace {

using digits::Net;
using shunt::Tensor;

constexpr int kEpochs = 4;
constexpr int64_t kBatch = 50;

struct Outcome {
  double first_loss = 0, last_loss = 0;
  int64_t right = 0;  // of the test rows
};

Outcome train(const digits::Data& data, shunt::Device device) {
  const Tensor images =
      shunt::from_blob(const_cast<float*>(data.images.data()), {digits::kRows, digits::kPixels}).to(device);
  const Tensor labels =
      shunt::from_blob(const_cast<int64_t*>(data.labels.data()), {digits::kRows}, shunt::kLong).to(device);
  Net net(1);
  for (Tensor* p : {&net.w1, &net.b1, &net.w2, &net.b2}) *p = p->detach().to(device).requires_grad_();
  digits::SGD optimizer(net.parameters(), 0.1, 0.9);
  Outcome outcome;
  for (int epoch = 0; epoch < kEpochs; ++epoch)
    for (int64_t row = 0; row < digits::kTrainRows; row += kBatch) {
      optimizer.zero_grad();
      const Tensor loss =
          shunt::cross_entropy_loss(net.forward(images.narrow(0, row, kBatch)), labels.narrow(0, row, kBatch));
      loss.backward();
      optimizer.step();
      if (epoch == 0 && row == 0) outcome.first_loss = loss.item<double>();
      outcome.last_loss = loss.item<double>();
    }
  shunt::NoGradGuard no_grad;
  const int64_t tests = digits::kRows - digits::kTrainRows;
  const Tensor guess = net.forward(images.narrow(0, digits::kTrainRows, tests)).argmax(1);
  outcome.right = guess.eq(labels.narrow(0, digits::kTrainRows, tests)).sum().item<int64_t>();
  return outcome;
}

void print(const char* where, const Outcome& o) {
  std::printf("%-7s loss %.4f -> %.4f, right %d of %d\n", where, o.first_loss, o.last_loss, static_cast<int>(o.right),
              static_cast<int>(digits::kRows - digits::kTrainRows));
}

int run(const char* library, const char* digits_file) {
  shunt::load_library(library);
  const shunt::Device device("opencl");
  std::printf("%d device(s) of type %s\n", shunt::getDeviceGuardImpl(device.type()).deviceCount(),
              device.str().c_str());

  const Tensor x = shunt::tensor({{1., -2.}, {3., 4.}}).to("opencl");
  std::cout << "x = " << x.toString() << "\nx.t() + 1 = " << (x.t() + 1).toString() << '\n';
  {
    shunt::AutocastGuard autocast(shunt::kPrivateUse1, shunt::kBFloat16);
    std::cout << "x.mm(x) under autocast is " << x.mm(x).dtype() << '\n';
  }

  const digits::Data data = digits::load(digits_file);
  const Outcome on_cpu = train(data, shunt::kCPU), on_device = train(data, device);
  print("cpu", on_cpu);
  print("opencl", on_device);
  std::printf("on the CPU by fallback:");
  for (const shunt::OperatorName& name : shunt::cpu_fallback_operators()) std::printf(" %s", name.str().c_str());
  std::printf("\n");
  const bool same =
      std::abs(on_cpu.last_loss - on_device.last_loss) < 1e-2 && std::abs(on_cpu.right - on_device.right) <= 3;
  std::printf("%s\n", same ? "as good as on the CPU" : "NOT as good as on the CPU");

  const bool pairs_are_right = runPairs(device), edges_are_right = runEdges(device);
  return same && pairs_are_right && edges_are_right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s <libopencl_backend.so> <digits.csv.gz>\n", argv[0]);
    return 2;
  }
  try {
    return run(argv[1], argv[2]);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
