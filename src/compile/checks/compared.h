// What checks of compiled functions compare. Pure functions; any thread.
#pragma once

#include <shunt/compile/compile.h>
#include <shunt/tensor/generator.h>

#include <string>
#include <vector>

namespace shunt::compiled {

/// 0 for inference tensors, which count none.
uint32_t versionOf(const Tensor& t);

/// The first thing in which a tensor that the graph gave or wrote differs from the function's: elements, sizes,
/// strides, dtype, whether it requires grad. Empty: none.
std::string differenceOf(const Tensor& graph, const Tensor& function);
/// Of whether both require grad.
std::string differenceOfGrad(bool graph, bool function);

/// The default generator, and those that the graph draws from; each once.
std::vector<Generator> generatorsOf(const Graph& graph);

}  // namespace shunt::compiled
