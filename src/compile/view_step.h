// View steps: views that nobody sees outside of the run are made from the sizes that the graph has, without a call.
#pragma once

#include "src/compile/aliases.h"

namespace shunt::compiled {

struct Step;

/// Fits the step with a direct call that makes the view, where it stands for the library's own view operator, and
/// nothing but operators of the dictionary reads the view and what is made of it.
void makeViewDirectly(const Graph& graph, Step& step);

}  // namespace shunt::compiled
