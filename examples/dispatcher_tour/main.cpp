// A tour of the dispatcher. `dispatcher_tour` goes to all stops; `dispatcher_tour NAME` to one.
#include "examples/dispatcher_tour/tour.h"
#include "examples/parts.h"

int main(int argc, char** argv) {
  using namespace tour;
  return examples::runParts(argc, argv, "dispatcher_tour",
                            {
                                {"priorities", &priorities},
                                {"keysets", &keysets},
                                {"two_tensors", &twoTensors},
                                {"own_kernel", &ownKernel},
                                {"custom_operator", &customOperator},
                                {"precedence", &precedence},
                                {"boxed_fallback", &boxedFallback},
                                {"decomposition", &decomposition},
                                {"structured", &structured},
                                {"dump", &dump},
                                {"autograd", &autograd},
                                {"no_grad", &noGrad},
                                {"custom_gradient", &customGradient},
                                {"views", &views},
                                {"autocast", &autocast},
                                {"backend_select", &backendSelect},
                                {"why", &why},
                            });
}
