// Random operators of a graph that is run again with the numbers that it drew: each in a form that takes a generator.
// Pure functions of the graph.
#pragma once

#include <shunt/trace/graph.h>

namespace shunt::compiled {

/// The generator argument of an operator that draws, where none was given; null else.
Graph::Argument* generatorOf(Graph::Node& node);

/// Makes operators that draw and take no generator, as randn_like, others that draw the same numbers and take one.
/// Throws Error, saying why, for those that draw from a generator of their own, or for which there is no such operator.
void takeGenerators(Graph& graph);

}  // namespace shunt::compiled
