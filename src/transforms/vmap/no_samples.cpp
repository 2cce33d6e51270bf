// The loop over a batch of none: the operator's Meta kernel tells of what dtypes and shapes its results would be.
#include "src/core/alias_sets.h"
#include "src/dispatch/state_in_use.h"
#include "src/tensor/no_numbers.h"
#include "src/transforms/fake/fake_impl.h"
#include "src/transforms/vmap/call.h"

#include <shunt/core/tls.h>
#include <shunt/ops.h>

#include <algorithm>
#include <utility>

namespace shunt::levels {
namespace {

/// A fake tensor that looks as `t` does to the operator.
Tensor fakeLike(const Tensor& t) {
  int64_t end = t.storage_offset() + 1;
  for (int64_t d = 0; d < t.dim(); ++d) end += std::max<int64_t>(t.size(d) - 1, 0) * t.stride(d);
  const auto nbytes = static_cast<size_t>(end * t.itemsize());
  return fake::makeTensor(fake::makeStorage(nbytes, fake::normalized(t.device())), *t.unsafeGetTensorImpl());
}

void checkHasMetaKernel(const OperatorHandle& op) {
  const detail::StateInUse state(op.op());
  SHUNT_CHECK(state->lookup(DispatchKeySet(DispatchKey::Meta)).reason != EntryReason::kMissing, "vmap: operator ",
              op.operator_name(),
              " has no rule, and the batch has no samples to call it with: only its Meta kernel could tell of what "
              "dtypes and shapes the results are, and there is none; register one: m.impl(\"",
              op.operator_name(), "\", DispatchKey::Meta, ...)");
}

}  // namespace

Stack resultsOfNone(const BatchedCall& call) {
  checkHasMetaKernel(call.op);
  Stack values = call.args;
  mapTensors(values, values.size(), fakeLike);
  const ExcludeDispatchKeyGuard below(fake::kModesAndWrappers);
  const NoGradGuard no_grad;
  try {
    call.op.callBoxed(&values);
  } catch (const NoNumbersError&) {
    throw Error(detail::str("vmap: operator ", call.op.operator_name(),
                            " has no rule, and what its results look like depends on elements, of which a batch "
                            "without samples has none"));
  }
  return values;
}

namespace {

/// A zero that depends on all arguments that have gradients, as the results do; undefined where no graph is recorded.
Tensor dependentZero(const BatchedCall& call) {
  Tensor zero;
  if (!isRecorded(call)) return zero;
  for (const IValue& v : call.args)
    forEachTensor(v, [&](const Tensor& t) {
      if (!t.is_floating_point()) return;
      const Tensor value = call.isBatched(t) ? call.front(t) : ops::unsqueeze::call(t, 0);
      const Tensor sum = ops::sum::call(ops::slice_Tensor::call(value, 0, 0, 0, 1), std::nullopt);
      zero = zero.defined() ? ops::add_Tensor::call(zero, sum, 1) : sum;
    });
  return zero;
}

}  // namespace

void loopOverNone(BatchedCall& call) {
  const Stack samples = resultsOfNone(call);
  const Tensor zero = dependentZero(call);
  // Of the same kind as the arguments: fake, functional, a wrapper of a level further out.
  Tensor batched;
  for (const IValue& v : call.args)
    forEachTensor(v, [&](const Tensor& t) {
      if (call.isBatched(t)) batched = storageOf(t).value;
    });
  const auto none = [&](const Tensor& like) {
    const Tensor empty = ops::new_empty::call(batched, call.withBatch(like.sizes()), like.scalar_type(), std::nullopt,
                                              like.device(), std::nullopt);
    return zero.defined() && like.is_floating_point() ? ops::add_Tensor::call(empty, zero, 1) : empty;
  };
  call.returned = detail::returnedArguments(call.schema, call.args, {});
  for (size_t r = 0; r < samples.size(); ++r)
    call.results.push_back(call.returned[r] ? IValue() : mapTensors(samples[r], none));
}

}  // namespace shunt::levels
