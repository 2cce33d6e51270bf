#include "src/compile/program/program.h"

#include "src/compile/passes/host_node.h"
#include "src/compile/program/buffers.h"
#include "src/compile/program/costs.h"
#include "src/compile/program/region_builder.h"
#include "src/compile/program/step_builder.h"
#include "src/compile/steps/grad_step.h"
#include "src/trace/values_of.h"

#include <algorithm>
#include <cstring>

namespace shunt::compiled {
namespace {

/// In their order. One that no other output shares the tensor of is moved out of its slot.
std::vector<Program::Output> outputsOf(const Graph& graph, const Placement& placement) {
  std::vector<Program::Output> out;
  for (const Graph::Value* v : graph.outputs()) {
    if (v == nullptr) {
      out.push_back({Source{}, false, false});
      continue;
    }
    const auto mentions = [&](const Graph::Value* o) {
      return o != nullptr && placement.tensorOf(o) == placement.tensorOf(v);
    };
    const Source source = placement.sourceOf(v);
    const bool is_moved = source.kind == Source::Kind::kSlot && std::ranges::count_if(graph.outputs(), mentions) == 1;
    out.push_back({source, true, is_moved});
  }
  return out;
}

std::string nameOf(const Graph::Node& node) { return isHostStep(node) ? hostFunctionOf(node).value : node.name(); }

PlanPart::Call callOf(const Step& step) {
  using Call = PlanPart::Call;
  if (isHostStep(*step.node)) return step.in_buffers ? Call::kHostWithoutTensors : Call::kHost;
  if (step.buffers[0] >= 0) return Call::kPreparedWithoutTensor;
  if (step.quick != nullptr && step.copies_dead) return Call::kDirectWithoutCopy;
  if (step.view >= 0) return Call::kPreparedWithView;
  if (step.prepared != nullptr) return step.late.empty() ? Call::kPrepared : Call::kPreparedWithoutViews;
  if (const auto viewed = howViewed(step)) return *viewed;
  if (step.kernel.slot >= 0) return Call::kDirect;
  return step.passed_by.slot >= 0 ? Call::kDispatched : Call::kWithAutograd;
}

std::vector<Program::Buffer> buffersOf(const Placement& placement, const Buffers& buffers, const Program& program) {
  std::vector<Program::Buffer> out;
  size_t unit = 0;
  for (size_t i = 0; i < placement.order().size(); ++i) {
    const int region = program.region_at[i];
    if (!program.in_region[i] || region >= 0) unit = i;
    trace_detail::forResults(*placement.order()[i], [&](const Graph::Value* v) {
      if (const auto at = buffers.at.find(v); at != buffers.at.end())
        out.push_back({v, at->second, placement.sourceOf(v).index, unit, placement.last(v)});
    });
  }
  return out;
}

std::vector<Program::Unit> unitsOf(const Program& program) {
  std::vector<Program::Unit> out;
  Program::Unit unit;
  const size_t count = program.steps.size();
  for (size_t i = 0; i < count;) {
    const Step& step = program.steps[i];
    if (program.region_at[i] >= 0) {
      unit.region = &program.regions[static_cast<size_t>(program.region_at[i])];
      i += unit.region->steps;
    } else if (i + 1 < count && (doesNothing(step) || findsNoGrad(step))) {
      ++(doesNothing(step) ? unit.views : unit.grads);
      ++i;
      continue;
    } else {
      unit.step = &step;
      i += step.view >= 0 ? 2 : 1;
    }
    unit.end = static_cast<uint32_t>(i);
    out.push_back(unit);
    unit = {.begin = unit.end};
  }
  return out;
}

Program makeProgram(const Graph& graph, const Aliases& aliases, const History& history,
                    const std::vector<Group>& groups, const ProgramOptions& options, const Buffers& buffers) {
  const Placement placement(graph, aliases, history, groups, options, buffers);
  Program out;
  out.slots = placement.slots();
  out.kept_slots = placement.keptSlots();
  out.steps = StepBuilder(placement, out.modes).build();
  out.region_at.assign(out.steps.size(), -1);
  for (const Graph::Node* node : placement.order()) out.in_region.push_back(placement.isInRegion(*node));
  size_t position = 0;
  for (const Group& g : groups) {
    if (isRegion(g)) {
      out.region_at[position] = static_cast<int>(out.regions.size());
      out.regions.push_back(RegionBuilder(placement).build(g, position));
    }
    position += stepsOf(g);
  }
  out.outputs = outputsOf(graph, placement);
  out.is_one_loop = out.isOneLoop();
  out.units = unitsOf(out);
  out.buffers = buffersOf(placement, buffers, out);
  out.buffer_bytes = buffers.bytes;
  if (!options.buffers || !buffers.empty()) return out;
  const Buffers found = findBuffers(aliases, placement, out);
  return found.empty() ? std::move(out) : makeProgram(graph, aliases, history, groups, options, found);
}

}  // namespace

Program makeProgram(const Graph& graph, const Aliases& aliases, const History& history,
                    const std::vector<Group>& groups, const ProgramOptions& options) {
  return makeProgram(graph, aliases, history, groups, options, Buffers());
}

void Program::leaveBuffers(Frame& frame, size_t position) const {
  frame.useAll();
  if (!frame.hasBuffers()) return;
  for (const Buffer& b : buffers) {
    if (b.made >= position || b.last < position) continue;
    Tensor t(detail::makeCpuTensor(b.value->spec.sizes, {}, b.value->spec.dtype));
    std::memcpy(t.unsafeGetTensorImpl()->data(), frame.buffer(b.index), static_cast<size_t>(t.nbytes()));
    frame.slot(b.slot) = std::move(t);
  }
  frame.closeBuffers();
}

bool Program::isOneLoop() const {
  if (regions.size() != 1 || regions[0].steps != steps.size() || !regions[0].plain || !regions[0].unchecked)
    return false;
  return std::ranges::equal(outputs, regions[0].outputs, [](const Output& o, const Region::Output& made) {
    return o.moved && o.source.index == made.slot;
  });
}

detail::CompileOutputs Program::resultsOf(Frame& frame) const {
  detail::CompileOutputs out;
  out.reserve(outputs.size());
  for (const Output& o : outputs) {
    if (o.moved)
      out.emplace_back(std::move(frame.slot(o.source.index)));
    else
      out.emplace_back(o.defined ? frame.at(o.source) : Tensor());
  }
  return out;
}

PlanDescription Program::description() const {
  PlanDescription out;
  out.is_one_loop = is_one_loop;
  out.buffers = buffers.size();
  out.buffer_bytes = buffer_bytes;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (region_at[i] < 0) {
      const Costs costs = costsOf(*steps[i].node);
      PlanPart& call = out.parts.emplace_back();
      call.call = callOf(steps[i]);
      call.operators = {nameOf(*steps[i].node)};
      call.bytes = costs.bytes;
      call.flops = costs.flops;
      continue;
    }
    const Region& r = regions[static_cast<size_t>(region_at[i])];
    PlanPart& part = out.parts.emplace_back(r.description());
    for (size_t k = 0; k < r.steps; ++k) part.operators.push_back(steps[i + k].node->name());
    i += r.steps - 1;
  }
  return out;
}

}  // namespace shunt::compiled
