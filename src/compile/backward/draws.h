// Random operators of a graph that is run again with the numbers that it drew: each in a form that takes a generator.
// Pure functions of the graph.
#pragma once

#include <shunt/trace/graph.h>

#include <vector>

namespace shunt::compiled {

/// The generator argument of an operator that draws, where none was given; null else.
Graph::Argument* generatorOf(Graph::Node& node);

/// Makes operators that draw and take no generator, as randn_like, others that draw the same numbers and take one.
/// Throws Error, saying why, for those that draw from a generator of their own, or for which there is no such operator,
/// and where a program's kernel draws.
void takeGenerators(Graph& graph);

/// Operators that draw for the graph: its own, and those that these may call. Empty where none draws.
std::vector<const Operator*> drawnBy(const Graph& graph);

}  // namespace shunt::compiled
