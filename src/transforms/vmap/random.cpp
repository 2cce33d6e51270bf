// Random operators inside vmap: what Randomness says.
//
// The key Batched, which a vmap level includes, brings calls of random operators here even where no argument is
// batched.
//   kError      throws.
//   kSame       calls the operator for one sample, so that each gets the numbers that a call outside would draw; an
//               error where an argument gives each sample probabilities of its own.
//   kDifferent  calls it for all samples at once, with a batch in front of the sizes.
#include "src/transforms/vmap/aligned.h"

#include <shunt/ops.h>

namespace shunt::levels {
namespace {

[[noreturn]] SHUNT_COLD void throwNotAllowed(const OperatorHandle& op) {
  throw Error(
      detail::str("vmap: operator ", op.operator_name(),
                  " draws random numbers, which VmapOptions::randomness doesn't allow: set it to "
                  "Randomness::kSame for the same numbers in each sample, or to Randomness::kDifferent for others"));
}

void checkAllowed(const OperatorHandle& op, const Level& level) {
  if (level.randomness == Randomness::kError) throwNotAllowed(op);
  SHUNT_CHECK(
      level.randomness != Randomness::kSame || !level.isChunk(), "vmap: operator ", op.operator_name(),
      " draws random numbers with Randomness::kSame and a chunk_size of fewer samples than there are: each chunk "
      "would draw others. Leave chunk_size 0, or draw the numbers outside and pass them in");
}

/// Whether the tensors after the first, which may say how likely a number is, differ between samples.
bool dependsOnSamples(const BatchedCall& call) {
  const bool probabilities = &call.op.op() == &ops::bernoulli::symbol;
  for (size_t i = probabilities ? 0 : 1; i < call.args.size(); ++i)
    if (call.isBatched(i)) return true;
  return false;
}

/// An unbatched tensor like one sample of `t`.
Tensor sampleOf(const BatchedCall& call, const Tensor& t) {
  if (!call.isBatched(t)) return t;
  return ops::empty_like::call(ops::select_int::call(storageOf(t).value, storageOf(t).batch_dim, 0), std::nullopt,
                               std::nullopt, std::nullopt, std::nullopt, std::nullopt);
}

void same(BatchedCall& call) {
  SHUNT_CHECK(!dependsOnSamples(call), "vmap: operator ", call.op.operator_name(),
              " with Randomness::kSame: its probabilities, argument '", batchedArgument(call),
              "', are batched, and the same numbers can't be drawn by other probabilities; use Randomness::kDifferent");
  Stack values = call.args;
  mapTensors(values, values.size(), [&](const Tensor& t) { return sampleOf(call, t); });
  call.op.callBoxed(&values);
  const Tensor drawn = values[0].toTensor();
  if (!call.schema.is_mutable()) return call.setResult(call.expanded(drawn));
  Tensor self = call.front(call.tensor(0));
  ops::copy_::call(self, call.expanded(drawn), false);
  call.results = {IValue()};
}

void different(BatchedCall& call) {
  if (call.schema.is_mutable()) {
    SHUNT_CHECK(
        call.isBatched(size_t{0}), "vmap: operator ", call.op.operator_name(),
        " with Randomness::kDifferent writes to its argument '", call.schema.arguments()[0].name,
        "', which has no batch: one tensor can't hold other numbers for each sample. Use the form that returns a "
        "new tensor (rand_like, bernoulli)");
  }
  if (call.op.op().name() == "aten::randperm") return loopSilently(call);
  Stack values = call.args;
  const int64_t dims = mostDims(call);
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i].isTensor())
      values[i] = IValue(i == 0 ? call.expanded(call.tensor(i)) : aligned(call, call.tensor(i), dims));
  if (const auto size = call.schema.argumentIndexWithName("size"))
    values[*size] = IValue(call.withBatch(values[*size].toIntVector()));
  call.op.callBoxed(&values);
  if (call.schema.is_mutable())
    call.results = {IValue()};
  else
    call.results = std::move(values);
}

/// dropout draws into a tensor like its input: where samples get other numbers, the input has to have a batch.
void repeatInput(IValue& input, const Level& level) {
  const Tensor& t = input.toTensor();
  std::vector<int64_t> sizes = {level.size};
  sizes.insert(sizes.end(), t.sizes().begin(), t.sizes().end());
  Tensor repeated;
  {
    const Outside outside;
    repeated = ops::expand::call(ops::unsqueeze::call(t, 0), sizes, false);
  }
  input = IValue(makeBatched(level, std::move(repeated), 0));
}

/// Whether a vmap level further out draws other numbers for each sample.
bool drawsForEach(const LevelFrame& frame) {
  for (const LevelFrame* outer = frame.outer(); outer != nullptr; outer = outer->outer())
    if (outer->level().kind == Kind::kVmap && outer->level().randomness == Randomness::kDifferent) return true;
  return false;
}

}  // namespace

bool runDropoutInGrad(const OperatorHandle& op, Stack* stack, const LevelFrame& frame) {
  if (&op.op() != &ops::dropout::symbol || !drawsForEach(frame)) return false;
  const Tensor input = peek(*stack, 0, 3).toTensor();
  const double p = peek(*stack, 1, 3).toDouble();
  if (!peek(*stack, 2, 3).toBool() || !(p > 0 && p < 1) || input.numel() == 0 || !input.is_floating_point())
    return false;
  Tensor kept;
  {
    const Outside outside;
    const Tensor& value = belongsTo(input, frame.level()) ? storageOf(input).value : input;
    kept = ops::dropout::call(ops::ones_like::call(value, {}, {}, {}, {}, MemoryFormat::Contiguous), p, true);
  }
  drop(*stack, 3);
  stack->push_back(IValue(ops::mul_Tensor::call(input, makeTracked(frame.level(), std::move(kept)))));
  return true;
}

bool runRandomUnbatched(const OperatorHandle& op, DispatchKeySet keys, Stack* stack, const LevelFrame& frame) {
  const BatchRow* row = rowOf(op.op());
  const Randomness randomness = frame.level().randomness;
  if (&op.op() == &ops::dropout::symbol && randomness == Randomness::kDifferent) {
    repeatInput(peek(*stack, 0, op.schema().arguments().size()), frame.level());
  } else {
    if (row == nullptr || row->kind != BatchKind::kRandom) return false;
    checkAllowed(op, frame.level());
    if (randomness == Randomness::kSame) return false;
  }
  runInVmap(op, keys, stack, frame);
  return true;
}

void runRandom(BatchedCall& call) {
  checkAllowed(call.op, call.level);
  call.level.randomness == Randomness::kSame ? same(call) : different(call);
}

}  // namespace shunt::levels
