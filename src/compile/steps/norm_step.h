// native_layer_norm and native_layer_norm_backward of few elements, prepared: with the library's own loops on memory
// whose layout the graph has. Made once for a program; constant then.
#pragma once

#include "src/compile/steps/prepared_step.h"

#include <functional>
#include <memory>

namespace shunt::compiled {

bool isNorm(const Graph::Node& node);
/// `place`: of the argument at an index, which is a tensor. Null where the node isn't of the library's own kernel, or
/// has other operands than row-major floats or doubles of one dtype.
std::shared_ptr<const PreparedStep> normOf(const Graph::Node& node,
                                           const std::function<PreparedStep::Place(size_t)>& place);

}  // namespace shunt::compiled
