// Rules of operators with arguments that name dimensions: all tensors have the batch in front, dimensions count one
// more.
#include "src/transforms/vmap/call.h"

#include <shunt/core/wrap_dim.h>
#include <shunt/ops.h>

#include <optional>

namespace shunt::levels {
namespace {

using Role = BatchRow::Argument;

/// The dimensions that the operator's arguments count: those of its first tensor, or of the sizes that it is given.
int64_t dimsOf(const BatchedCall& call, const BatchRow& row) {
  for (const Role& r : row.arguments)
    if (r.role == 's') return static_cast<int64_t>(call.args[static_cast<size_t>(r.position)].toIntVector().size());
  std::optional<int64_t> first;
  for (const IValue& v : call.args)
    forEachTensor(v, [&](const Tensor& t) {
      if (!first) first = t.dim();
    });
  return first.value_or(0);
}

bool namesDimensions(const BatchRow& row) {
  for (const Role& r : row.arguments)
    if (r.role == 'd') return true;
  return false;
}

IValue shifted(const BatchedCall& call, const IValue& v, char role, int64_t dims, bool reduction) {
  if (role == 's') return IValue(call.withBatch(v.toIntVector()));
  const int64_t counted = dims + (role == 'e' ? 1 : 0);
  if (v.isInt()) return IValue(maybe_wrap_dim(v.toInt(), counted) + 1);
  std::vector<int64_t> list;
  if (role == 'a') list.push_back(0);
  const std::vector<int64_t> given = v.isNone() ? std::vector<int64_t>() : v.toIntVector();
  for (const int64_t d : given) list.push_back(maybe_wrap_dim(d, counted) + 1);
  if (reduction && list.empty())
    for (int64_t d = 0; d < std::max<int64_t>(dims, 1); ++d) list.push_back(d + 1);
  return IValue(std::move(list));
}

/// Throws what the operator throws for one sample.
void trySample(const BatchedCall& call) {
  if (call.size == 0) {
    resultsOfNone(call);
    return;
  }
  Stack sample = call.args;
  mapTensors(sample, sample.size(), [&](const Tensor& t) {
    return call.isBatched(t) ? ops::select_int::call(storageOf(t).value, storageOf(t).batch_dim, 0) : t;
  });
  call.op.callBoxed(&sample);
}

/// Of a part's gradient, which broadcasts to the part: the dimensions that it lacks for that, after the batch. Its
/// argument is the first one, and the next the sizes of the whole.
Tensor withDimsOfPart(const BatchedCall& call, const Tensor& value) {
  const auto whole = static_cast<int64_t>(call.args[1].toIntVector().size());
  const int64_t part = call.op.op().name() == "aten::slice_backward" ? whole : whole - 1;
  Tensor result = value;
  for (int64_t d = call.tensor(0).dim(); d < part; ++d) result = ops::unsqueeze::call(result, 1);
  return result;
}

bool isGradientOfPart(const BatchRow& row) {
  return row.arguments[0].role == 's' && row.arguments[0].position == 1 && namesDimensions(row);
}

}  // namespace

void runDims(BatchedCall& call, const BatchRow& row) {
  const int64_t dims = dimsOf(call, row);
  const bool reduction = row.kind == BatchKind::kReduction;
  // A sample without dimensions has one for operators that allow dim=0 on it; others refuse it.
  const bool scalar = dims == 0 && (reduction || namesDimensions(row));
  if (scalar) trySample(call);
  Stack values = call.args;
  mapTensors(values, values.size(), [&](const Tensor& t) {
    const Tensor value = call.expanded(t);
    return scalar && t.dim() == 0 ? ops::unsqueeze::call(value, 1) : value;
  });
  if (isGradientOfPart(row)) values[0] = IValue(withDimsOfPart(call, values[0].toTensor()));
  for (const Role& r : row.arguments) {
    if (r.role == 0) continue;
    IValue& v = values[static_cast<size_t>(r.position)];
    v = shifted(call, v, r.role, dims, reduction);
  }
  call.op.callBoxed(&values);
  if (scalar)
    mapTensors(values, values.size(), [](const Tensor& t) { return t.dim() == 2 ? ops::squeeze_dim::call(t, 1) : t; });
  call.results = std::move(values);
}

}  // namespace shunt::levels
