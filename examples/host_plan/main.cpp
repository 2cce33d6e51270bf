// Host plans: a program with arrays of its own has Shunt run its recorded operators as one plan, with functions of its
// own between them.
#include <shunt/compile/host_plan.h>

#include "examples/parts.h"

#include <iostream>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {

using shunt::HostCall;
using shunt::HostPlan;
using shunt::HostPlanBuilder;
using shunt::HostValue;

void print(const std::vector<float>& v) {
  for (size_t i = 0; i < v.size(); ++i) std::cout << (i == 0 ? "" : ", ") << v[i];
  std::cout << '\n';
}

/// The program's own product of two row-major matrices.
void product(const HostCall& call) {
  const auto* a = static_cast<const float*>(call.inputs[0]);
  const auto* b = static_cast<const float*>(call.inputs[1]);
  auto* out = static_cast<float*>(call.results[0]);
  const int64_t rows = call.input_specs[0].sizes[0], n = call.input_specs[0].sizes[1];
  const int64_t columns = call.input_specs[1].sizes[1];
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      float sum = 0;
      for (int64_t k = 0; k < n; ++k) sum += a[i * n + k] * b[k * columns + j];
      out[i * columns + j] = sum;
    }
}

// Operators of Shunt before and behind the program's product, into the program's memory.
void layer() {
  HostPlanBuilder b;
  const HostValue x = b.input({.sizes = {2, 2}}), w = b.input({.sizes = {2, 2}}), bias = b.input({.sizes = {2}});
  const HostValue scaled = b.call("aten::mul.Tensor", {b.call("aten::abs", {x})[0], 2})[0];
  const HostValue y =
      b.step({.name = "product", .function = &product, .inputs = {scaled, w}, .results = {{.sizes = {2, 2}}}})[0];
  b.outputInto(b.call("aten::relu", {b.call("aten::add.Tensor", {y, bias})[0]})[0]);
  const HostPlan plan = b.compile({.name = "layer"});
  std::vector<float> x_data{-1, 0, 3, 1}, w_data{1, 0, 0, 2}, bias_data{-1, 0}, out(4);
  for (int i = 0; i < 3; ++i) plan.run({x_data.data(), w_data.data(), bias_data.data()}, {out.data()});
  std::cout << plan.describe();
  print(out);
}

// An optimiser's update: one loop over the program's memory, which it writes in place.
void update() {
  HostPlanBuilder b;
  const HostValue w = b.input({.sizes = {3}}), grad = b.input({.sizes = {3}});
  const HostValue decayed = b.call("aten::mul.Tensor", {grad, 0.5})[0];
  const HostValue step = b.call("aten::add.Tensor", {decayed, decayed})[0];
  b.call("aten::sub_.Tensor", {w, step});
  const HostPlan plan = b.compile({.name = "update"});
  std::vector<float> weights{1, 2, 3}, gradient(3);
  for (int i = 0; i < 3; ++i) {
    for (size_t k = 0; k < 3; ++k) gradient[k] = 0.1F * weights[k];
    plan.run({weights.data(), gradient.data()});
  }
  std::cout << "weights after three steps: ";
  print(weights);
  std::cout << plan.describe();
}

/// What `f` throws.
template <class F>
void report(F f) {
  try {
    f();
  } catch (const std::exception& e) {
    std::cout << e.what() << '\n';
  }
}

// Wrong calls are errors where they stand; what a step throws leaves the run.
void errors() {
  HostPlanBuilder b;
  const HostValue x = b.input({.sizes = {3}});
  report([&] { b.call("aten::add.Tensor", {x, x}, {{"alpha", x}}); });
  b.step({.name = "load",
          .function = [](const HostCall&) { throw std::runtime_error("no such file"); },
          .has_effects = true});
  const HostPlan plan = b.compile();
  report([&] { plan.run({nullptr}); });
  std::vector<float> data(3);
  report([&] { plan.run({data.data()}); });
}

// Any number of threads may run one plan, each on its own memory.
void threads() {
  HostPlanBuilder b;
  const HostValue x = b.input({.sizes = {1000}});
  b.outputInto(b.call("aten::relu", {b.call("aten::mul.Tensor", {x, 2})[0]})[0]);
  const HostPlan plan = b.compile({.name = "shared"});
  std::vector<std::vector<float>> outputs(4, std::vector<float>(1000));
  std::vector<std::thread> running;
  for (size_t t = 0; t < outputs.size(); ++t)
    running.emplace_back([&plan, &out = outputs[t], value = static_cast<float>(t)] {
      std::vector<float> in(1000, value);
      for (int i = 0; i < 100; ++i) plan.run({in.data()}, {out.data()});
    });
  for (std::thread& thread : running) thread.join();
  bool right = true;
  for (size_t t = 0; t < outputs.size(); ++t)
    for (const float v : outputs[t]) right = right && v == 2 * static_cast<float>(t);
  examples::show(right, "4 threads ran one plan: each has its results");
}

}  // namespace

int main(int argc, char** argv) {
  return examples::runParts(argc, argv, "host_plan",
                            {{"layer", layer}, {"update", update}, {"errors", errors}, {"threads", threads}});
}
