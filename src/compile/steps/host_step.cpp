#include "src/compile/steps/host_step.h"

#include "src/compile/steps/quick_counts.h"

#include <shunt/core/inline_vector.h>
#include <shunt/core/tls.h>

namespace shunt::compiled {
namespace {

bool runHostStep(const Step& step, Frame& frame) {
  // A new tensor has other keys in inference mode.
  if ((detail::tls_state.mode & detail::kModeInference) != 0 || (step.in_buffers && !frame.hasBuffers())) return false;
  return static_cast<const PreparedHostStep&>(*step.prepared).runIn(frame);
}

}  // namespace

PreparedHostStep::PreparedHostStep(const Graph::Node& node, std::vector<Place> inputs, std::vector<Result> results)
    : shared_(node.arguments[0].literal),
      function_(hostFunctionOf(node)),
      inputs_(std::move(inputs)),
      results_(std::move(results)) {}

bool PreparedHostStep::findInputs(const Frame& frame, Addresses& found) const {
  for (const Place& place : inputs_) {
    if (place.isBuffer()) {
      found.push_back(frame.buffer(place.source.index));
      continue;
    }
    // Not by elementsAt(): the address may be null where there are no elements.
    const Tensor& t = frame.at(place.source);
    if (place.spec != nullptr && !liesAs(t, *place.spec)) return false;
    found.push_back(t.unsafeGetTensorImpl()->data());
  }
  return true;
}

bool PreparedHostStep::run(const Frame& frame, std::byte* const* out) const {
  Addresses inputs;
  return findInputs(frame, inputs) && (call(inputs, out), true);
}

void PreparedHostStep::call(const Addresses& inputs, std::byte* const* out) const {
  Addresses results;
  for (size_t i = 0; i < results_.size(); ++i) results.push_back(out[i]);
  function_.call({inputs.data(), inputs.size()}, {results.data(), results.size()});
  ++quick_counts.host_steps;
}

bool PreparedHostStep::runIn(Frame& frame) const {
  Addresses inputs;
  if (!findInputs(frame, inputs)) return false;
  InlineVector<std::byte*, 16> results;
  InlineVector<Tensor, 4> made;
  for (size_t i = 0; i < results_.size(); ++i) {
    const Result& result = results_[i];
    if (result.buffer >= 0) {
      results.push_back(frame.buffer(static_cast<uint32_t>(result.buffer)));
      continue;
    }
    const HostSpec& spec = function_.resultSpecs()[i];
    made.push_back(result.into >= 0 ? frame.given(result.into)
                                    : Tensor(detail::makeCpuTensor(spec.sizes, spec.strides, spec.dtype)));
    results.push_back(made.back().unsafeGetTensorImpl()->data());
  }
  call(inputs, results.data());
  size_t next = 0;
  for (const Result& result : results_) {
    if (result.buffer >= 0) continue;
    Tensor& t = made[next++];
    if (result.slot >= 0) frame.slot(static_cast<size_t>(result.slot)) = std::move(t);
  }
  return true;
}

void prepareHostStep(Step& step, std::vector<PreparedStep::Place> inputs,
                     std::vector<PreparedHostStep::Result> results) {
  step.prepared = std::make_shared<const PreparedHostStep>(*step.node, std::move(inputs), std::move(results));
  step.quick = &runHostStep;
  for (const Operand& list : step.operands)
    for (const Operand& o : list.list)
      if (o.last) step.dead.push_back(o.source.index);
}

}  // namespace shunt::compiled
