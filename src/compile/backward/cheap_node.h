// Which nodes take less than writing their result to memory and reading it again. Any thread.
#pragma once

#include <shunt/core/kernel_function.h>
#include <shunt/trace/graph.h>

namespace shunt::compiled {

/// The library's kernel, good for as long as the process lives, of a node that runs one loop of few instructions an
/// element on the CPU, which accepts any elements; else null. The kernel takes no functor, and calls no operator. Found
/// by calling it for one element.
BoxedKernelFn cheapKernelOf(const Graph::Node& node);

}  // namespace shunt::compiled
