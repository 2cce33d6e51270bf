// Random programs as graphs: traced, and run from the graph. One thread.
#pragma once

#include "tests/programs/program.h"

#include <shunt/trace/trace.h>

namespace programs {

/// The program with a step that draws after every fourth one.
Program withDrawing(Program program);

std::vector<Tensor> inputsOf(const Program& program);

struct Traced {
  shunt::Graph graph;
  std::vector<std::string> errors;
  std::vector<bool> defined;  // which slots hold tensors: the graph's outputs
};
Traced traceProgram(const Program& program, const shunt::TraceOptions& options);

/// What is left when `run` has run the graph on the program's inputs.
Outcome outcomeOf(const Program& program, const Traced& traced,
                  const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& run);
Outcome runGraph(const Program& program, const Traced& traced, const shunt::Graph& graph);

}  // namespace programs
