// Rules of operators whose tensors broadcast against each other: the batch dimension goes in front of the others.
#include "src/dispatch/state_in_use.h"
#include "src/transforms/vmap/aligned.h"
#include "src/transforms/vmap/promotion.h"

#include <shunt/elementwise/elementwise_kernel.h>
#include <shunt/ops.h>

#include <algorithm>

shunt::elementwise::ElementwiseKernel::~ElementwiseKernel() = default;

namespace shunt::levels {
namespace {

void checkInplace(const BatchedCall& call) {
  if (!call.isBatched(size_t{0})) throwWritesUnbatched(call, 0);
  const int64_t dims = call.tensor(0).dim();
  for (size_t i = 1; i < call.args.size(); ++i)
    if (call.args[i].isTensor() && call.tensor(i).defined())
      SHUNT_CHECK(call.tensor(i).dim() <= dims, "vmap: operator ", call.op.operator_name(), ": output with shape ",
                  call.tensor(0).sizes(), " doesn't match the broadcast shape with argument '",
                  call.schema.arguments()[i].name, "' of shape ", call.tensor(i).sizes());
}

/// `promote` makes the common dtype of the values that of one sample, and returns whether it is.
template <class F>
void runAligned(BatchedCall& call, const F& promote) {
  const bool inplace = call.schema.is_mutable();
  if (inplace) checkInplace(call);
  if (inplace && readsWhatItWrites(call, true)) return loopSilently(call);
  Stack values = alignedArguments(call);
  if (!promote(values)) return loopSilently(call);
  call.op.callBoxed(&values);
  if (inplace)
    call.results = {IValue()};
  else
    call.results = std::move(values);
}

}  // namespace

int64_t mostDims(const BatchedCall& call) {
  int64_t most = 0;
  for (const IValue& v : call.args) forEachTensor(v, [&](const Tensor& t) { most = std::max(most, t.dim()); });
  return most;
}

Tensor aligned(const BatchedCall& call, const Tensor& t, int64_t dims) {
  if (!call.isBatched(t)) return t;
  Tensor value = call.front(t);
  for (int64_t d = t.dim(); d < dims; ++d) value = ops::unsqueeze::call(value, 1);
  return value;
}

Stack alignedArguments(const BatchedCall& call) {
  const int64_t dims = mostDims(call);
  Stack values;
  values.reserve(call.args.size());
  for (const IValue& v : call.args)
    values.push_back(v.isTensor() && call.isBatched(v.toTensor()) ? IValue(aligned(call, v.toTensor(), dims)) : v);
  return values;
}

void runPointwise(BatchedCall& call) {
  runAligned(call, [&](Stack& values) {
    keepPromotion(call, values);
    return true;
  });
}

void runElementwise(BatchedCall& call, const elementwise::KernelDescriptor& functor) {
  runAligned(call, [&](const Stack& values) { return promotesAsOneSample(call, values, functor.masks); });
}

const elementwise::KernelDescriptor* functorOf(const Operator& op, DispatchKeySet keys) {
  const detail::StateInUse state(op);
  const DispatchKeySet dense = backendsOf(keys) | DispatchKeySet::of(Functionality::Dense);
  const OperatorKernel* kernel = state->lookup(dense & state->maskFor(dense)).functor;
  const auto* made = dynamic_cast<const elementwise::ElementwiseKernel*>(kernel);
  return made != nullptr ? &made->descriptor() : nullptr;
}

namespace rules {

namespace {

/// Dimensions that the memory format is for; 0: any.
int64_t dimsOf(MemoryFormat format) {
  return format == MemoryFormat::ChannelsLast ? 4 : format == MemoryFormat::ChannelsLast3d ? 5 : 0;
}

}  // namespace

/// clone and the operators that make a tensor like another one. A memory format of four or five dimensions says nothing
/// of a batch of them.
void copy(BatchedCall& call) {
  Stack values = call.args;
  values[0] = call.front(call.tensor(0));
  if (const auto at = call.schema.argumentIndexWithName("memory_format"); at && !values[*at].isNone()) {
    const auto format = static_cast<MemoryFormat>(values[*at].toInt());
    const int64_t dims = dimsOf(format);
    if (dims != 0 && dims != call.tensor(0).dim()) return loopSilently(call);  // which refuses it
    if (dims != 0) values[*at] = IValue();
  }
  call.op.callBoxed(&values);
  call.results = std::move(values);
}

}  // namespace rules
}  // namespace shunt::levels
