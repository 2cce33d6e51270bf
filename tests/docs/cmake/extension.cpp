// An extension written for PyTorch's C++ API, which the cmake block of docs/pytorch_sources.md builds.
#include <torch/library.h>

at::Tensor twice(const at::Tensor& x) { return x + x; }

TORCH_LIBRARY(docs, m) { m.def("twice(Tensor x) -> Tensor", &twice); }
