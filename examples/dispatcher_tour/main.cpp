// A tour of the dispatcher. `dispatcher_tour` goes to all stops; `dispatcher_tour NAME` to one.
#include "examples/dispatcher_tour/tour.h"

#include <iostream>
#include <string>
#include <utility>

int main(int argc, char** argv) {
  using namespace tour;
  const std::pair<std::string, void (*)()> stops[] = {
      {"priorities", &priorities},         {"keysets", &keysets},         {"two_tensors", &twoTensors},
      {"own_kernel", &ownKernel},          {"custom_operator", &customOperator}, {"precedence", &precedence},
      {"boxed_fallback", &boxedFallback},  {"decomposition", &decomposition}, {"structured", &structured},
      {"dump", &dump},                     {"autograd", &autograd},       {"no_grad", &noGrad},
      {"custom_gradient", &customGradient}, {"views", &views},            {"autocast", &autocast},
      {"backend_select", &backendSelect},  {"why", &why},
  };
  bool found = false;
  for (const auto& [name, visit] : stops) {
    if (argc > 2 || (argc == 2 && name != argv[1])) continue;
    found = true;
    std::cout << "-- " << name << '\n';
    visit();
  }
  if (found) return 0;
  std::cerr << "usage: dispatcher_tour [";
  for (const auto& [name, visit] : stops) std::cerr << (name == stops[0].first ? "" : "|") << name;
  std::cerr << "]\n";
  return 2;
}
