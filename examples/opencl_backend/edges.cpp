#include "edges.h"

#include <iostream>

namespace {

using shunt::Device, shunt::Tensor;

/// -2, -1, ... 3
Tensor matrix(Device d) { return (shunt::arange(6, shunt::kFloat).view({2, 3}) - 2).to(d); }
Tensor number(Device d) { return shunt::full({}, 2.5).to(d); }
Tensor row(Device d) { return shunt::arange(6, shunt::kFloat).to(d); }

struct Edge {
  const char* name;
  Tensor (*call)(Device);
};
constexpr Edge kEdges[] = {
    {"sum of a number over dim 0", [](Device d) { return number(d).sum({0}); }},
    {"mean of a number over dim -1", [](Device d) { return number(d).mean({-1}, true); }},
    {"sum of a number over no dims", [](Device d) { return number(d).sum(shunt::IntArrayRef()); }},
    {"sum of a number over a dim it lacks", [](Device d) { return number(d).sum({1}); }},
    {"sum over a dim twice", [](Device d) { return matrix(d).sum({0, 0}); }},
    {"mean over a dim by both its names", [](Device d) { return matrix(d).mean({1, -1}); }},
    {"sum over a dim out of range", [](Device d) { return matrix(d).sum({2}); }},
    {"sum over both dims", [](Device d) { return matrix(d).sum({-1, 0}, true); }},
    {"copy_ forward into itself",
     [](Device d) {
       const Tensor x = row(d);
       return x.narrow(0, 1, 4).copy_(x.narrow(0, 0, 4));
     }},
    {"copy_ backward into itself",
     [](Device d) {
       const Tensor x = row(d);
       return x.narrow(0, 0, 4).copy_(x.narrow(0, 1, 4));
     }},
    {"copy_ into its own transpose",
     [](Device d) {
       const Tensor x = row(d).narrow(0, 0, 4).view({2, 2});
       return x.t().copy_(x);
     }},
    {"copy_ into other dtypes' bytes",
     [](Device d) {
       const Tensor x = row(d);
       return x.view(shunt::kInt).narrow(0, 1, 4).copy_(x.narrow(0, 0, 4));
     }},
    {"copy_ into an expanded tensor",
     [](Device d) { return matrix(d).narrow(0, 0, 1).expand({2, 3}).copy_(matrix(d)); }},
    {"copy_ from the CPU into an expanded tensor",
     [](Device d) { return matrix(d).narrow(0, 0, 1).expand({2, 3}).copy_(matrix(shunt::kCPU)); }},
    {"copy_ of a row to all",
     [](Device d) {
       const Tensor x = matrix(d);
       return x.copy_(x.select(0, 1).clone());
     }},
    {"copy_ of its own part to another",
     [](Device d) {
       const Tensor x = row(d);
       x.narrow(0, 3, 3).copy_(x.narrow(0, 0, 3));
       return x;
     }},
    {"copy_ onto the same elements",
     [](Device d) {
       const Tensor x = row(d);
       x.copy_(x.view({6}));
       return x;
     }},
};

std::string outcomeOf(const Edge& edge, Device device) {
  try {
    const Tensor t = edge.call(device);
    return shunt::detail::str(t.dtype(), " ", t.sizes(), " ", t.cpu().toString());
  } catch (const shunt::Error& e) {
    return std::string("error: ") + e.what();
  }
}

}  // namespace

bool runEdges(shunt::Device device) {
  bool all = true;
  for (const Edge& edge : kEdges) {
    const std::string on_cpu = outcomeOf(edge, shunt::kCPU), on_device = outcomeOf(edge, device);
    if (on_cpu == on_device) continue;
    all = false;
    std::cout << edge.name << " is\n  on the CPU: " << on_cpu << "\n  on the device: " << on_device << '\n';
  }
  std::cout << "at the edges: " << (all ? "as on the CPU" : "NOT as on the CPU") << '\n';
  return all;
}
