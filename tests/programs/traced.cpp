#include "tests/programs/traced.h"

#include "tests/programs/execution.h"

#include <optional>

namespace programs {
namespace {

/// Rows that draw. In place, so that the slots of the program's other steps stay what they are.
const std::vector<Row>& drawingRows() {
  static const std::vector<Row> rows = {
      {"a.uniform_(-1, 1)", 1, "", false, true,
       [](const Operands& o) -> Tensor { return Tensor(o.a).uniform_(-1, 1); }},
      {"a.copy_(dropout(a, 0.5, true))", 1, "", false, true,
       [](const Operands& o) -> Tensor { return Tensor(o.a).copy_(dropout(o.a, 0.5, true)); }},
      {"a.copy_(rand_like(a))", 1, "", false, true,
       [](const Operands& o) -> Tensor { return Tensor(o.a).copy_(rand_like(o.a)); }},
  };
  return rows;
}

}  // namespace

Program withDrawing(Program program) {
  std::vector<Step> steps;
  int slots = static_cast<int>(program.inputs.size());
  for (size_t i = 0; i < program.steps.size(); ++i) {
    steps.push_back(program.steps[i]);
    slots += !program.steps[i].row->in_place;
    if (i % 4 == 1)
      steps.push_back({&drawingRows()[i / 4 % drawingRows().size()], {slots - 1, 0, 0}, {}, 0, i % 3 == 0});
  }
  program.steps = std::move(steps);
  return program;
}

std::vector<Tensor> inputsOf(const Program& program) {
  std::vector<Tensor> inputs;
  for (const Input& input : program.inputs) inputs.push_back(makeInput(input));
  return inputs;
}

Traced traceProgram(const Program& program, const shunt::TraceOptions& options) {
  Traced out;
  const auto f = [&](const std::vector<Tensor>& inputs) {
    const World world;
    Execution execution(inputs, world);
    std::optional<shunt::AutocastGuard> autocast;
    if (program.autocast) autocast.emplace(shunt::kCPU);
    for (const Step& step : program.steps) out.errors.push_back(execution.take(step));
    autocast.reset();
    if (program.root >= 0) out.errors.push_back(execution.differentiate(program.root));
    for (const Tensor& t : execution.slots()) out.defined.push_back(t.defined());
    return execution.slots();
  };
  out.graph = trace(f, inputsOf(program), options);
  return out;
}

Outcome outcomeOf(const Program& program, const Traced& traced,
                  const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& run) {
  const std::vector<Tensor> results = run(inputsOf(program));
  std::vector<Tensor> slots;
  size_t next = 0;
  for (const bool defined : traced.defined) slots.push_back(defined ? results.at(next++) : Tensor());
  Outcome out;
  out.errors = traced.errors;
  readSlots(slots, program.inputs.size(), World(), out);
  releaseGraphs(results);
  return out;
}

Outcome runGraph(const Program& program, const Traced& traced, const shunt::Graph& graph) {
  return outcomeOf(program, traced, [&](const std::vector<Tensor>& inputs) { return graph.run(inputs); });
}

}  // namespace programs
