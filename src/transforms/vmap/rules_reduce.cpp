// Rules of reductions over all elements of a sample.
#include "src/transforms/vmap/call.h"

#include <shunt/core/wrap_dim.h>
#include <shunt/ops.h>

namespace shunt::levels::rules {
namespace {

/// With one dimension at least after the batch.
Tensor withDims(const BatchedCall& call) {
  const Tensor value = call.front(call.tensor(0));
  return value.dim() == 1 ? ops::unsqueeze::call(value, 1) : value;
}

std::vector<int64_t> sampleDims(const Tensor& value) {
  std::vector<int64_t> dims;
  for (int64_t d = 1; d < value.dim(); ++d) dims.push_back(d);
  return dims;
}

/// A row for each sample.
Tensor asRows(const BatchedCall& call) {
  return ops::reshape::call(call.front(call.tensor(0)), {call.size, call.tensor(0).numel()});
}

void checkNotEmpty(const BatchedCall& call, const char* name) {
  SHUNT_CHECK(call.tensor(0).numel() > 0, name,
              "(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the "
              "'dim' argument.");
}

}  // namespace

void sum(BatchedCall& call) {
  const Tensor value = withDims(call);
  call.setResult(ops::sum_dim_IntList::call(value, sampleDims(value), false, call.optionalDtype(1)));
}

void mean(BatchedCall& call) {
  const Tensor value = withDims(call);
  call.setResult(ops::mean_dim::call(value, sampleDims(value), false, call.optionalDtype(1)));
}

void prod(BatchedCall& call) { call.setResult(ops::prod_dim_int::call(asRows(call), 1, false, call.optionalDtype(1))); }

void all(BatchedCall& call) { call.setResult(ops::all_dim::call(asRows(call), 1, false)); }
void any(BatchedCall& call) { call.setResult(ops::any_dim::call(asRows(call), 1, false)); }

void max(BatchedCall& call) {
  checkNotEmpty(call, "max");
  const Tensor value = withDims(call);
  call.setResult(ops::amax::call(value, sampleDims(value), false));
}

void min(BatchedCall& call) {
  checkNotEmpty(call, "min");
  const Tensor value = withDims(call);
  call.setResult(ops::amin::call(value, sampleDims(value), false));
}

void median(BatchedCall& call) {
  if (call.tensor(0).numel() == 0) return loopSilently(call);  // of nothing it is NaN
  call.setResult(std::get<0>(ops::median_dim::call(asRows(call), 1, false)));
}

void nanmedian(BatchedCall& call) {
  if (call.tensor(0).numel() == 0) return loopSilently(call);
  call.setResult(std::get<0>(ops::nanmedian_dim::call(asRows(call), 1, false)));
}

void norm(BatchedCall& call) {
  const Tensor value = withDims(call);
  const std::optional<Scalar> power = call.args[1].isNone() ? std::nullopt : std::optional(call.args[1].toScalar());
  const std::vector<int64_t> dims = sampleDims(value);
  call.setResult(call.args.size() > 2
                     ? ops::norm_ScalarOpt_dim_dtype::call(value, power, dims, false, *call.optionalDtype(2))
                     : ops::norm_ScalarOpt_dim::call(value, power, dims, false));
}

void trace(BatchedCall& call) {
  const Tensor& matrix = call.tensor(0);
  SHUNT_CHECK(matrix.dim() == 2, "trace: expected a matrix, but got tensor with dim ", matrix.dim());
  if (matrix.scalar_type() == kBool) return loopSilently(call);  // its error
  const Tensor diagonals = ops::diagonal::call(call.front(matrix), 0, 1, 2);
  call.setResult(ops::sum_dim_IntList::call(diagonals, std::vector<int64_t>{1}, false, std::nullopt));
}

void argExtremum(BatchedCall& call) {
  const int64_t dims = call.tensor(0).dim();
  const auto dim = call.optionalInteger(1);
  const bool keep = call.flag(2);
  const Tensor value = dim ? withDims(call) : asRows(call);
  Stack values = {IValue(value), IValue(dim ? maybe_wrap_dim(*dim, dims) + 1 : 1), IValue(keep && dim && dims > 0)};
  call.op.callBoxed(&values);
  Tensor result = values[0].toTensor();
  if (!dim && keep)
    result = ops::view::call(result, call.withBatch(std::vector<int64_t>(static_cast<size_t>(dims), 1)));
  call.setResult(std::move(result));
}

}  // namespace shunt::levels::rules
