// Random operators inside vmap: what Randomness says.
//
// The key VmapMode, which a vmap level includes, brings calls of random operators here even where no argument is
// batched.
//   kError      throws.
//   kSame       calls the operator for one sample, so that each gets the numbers that a call outside would draw. Where
//               an argument gives each sample probabilities of its own, every sample starts from the same numbers.
//   kDifferent  calls it for all samples at once, with a batch in front of the sizes.
#include "src/transforms/vmap/aligned.h"

#include <shunt/core/library.h>
#include <shunt/ops.h>

namespace shunt::levels {
namespace {

[[noreturn]] SHUNT_COLD void throwNotAllowed(const OperatorHandle& op) {
  throw Error(
      detail::str("vmap: operator ", op.operator_name(),
                  " draws random numbers, which VmapOptions::randomness doesn't allow: set it to "
                  "Randomness::kSame for the same numbers in each sample, or to Randomness::kDifferent for others"));
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

bool anyBatched(const Stack& stack, size_t n, const Level& level) {
  bool any = false;
  forEachTensor(stack, n, [&](const Tensor& t) { any |= belongsTo(t, level); });
  return any;
}

constexpr DispatchKeySet kBelow = DispatchKeySet::fullAfter(DispatchKey::VmapMode);

void randomKernel(const OperatorHandle& op, DispatchKeySet keys, Stack* stack) {
  const LevelFrame* frame = innermost();
  if (frame == nullptr || frame->level()->kind != Kind::kVmap) return op.redispatchBoxed(keys & kBelow, stack);
  const Level& level = *frame->level();
  if (level.randomness == Randomness::kError) throwNotAllowed(op);
  const bool batched = anyBatched(*stack, op.schema().arguments().size(), level);
  if (batched || level.randomness == Randomness::kDifferent) return runInVmap(op, keys & kBelow, stack, *frame);
  const Outside outside;
  op.callBoxed(stack);
}

/// Draws into a tensor like its input: where samples get other numbers, the input has to have a batch.
void dropoutKernel(const OperatorHandle& op, DispatchKeySet keys, Stack* stack) {
  const LevelFrame* frame = innermost();
  IValue& input = peek(*stack, 0, op.schema().arguments().size());
  DispatchKeySet below = keys & kBelow;
  if (frame != nullptr && frame->level()->kind == Kind::kVmap && frame->level()->randomness == Randomness::kDifferent &&
      !belongsTo(input.toTensor(), *frame->level())) {
    const intrusive_ptr<Level>& level = frame->level();
    std::vector<int64_t> sizes = {level->size};
    const Tensor& t = input.toTensor();
    sizes.insert(sizes.end(), t.sizes().begin(), t.sizes().end());
    Tensor repeated;
    {
      const Outside outside;
      repeated = ops::expand::call(ops::unsqueeze::call(t, 0), sizes, false);
    }
    input = IValue(makeBatched(level, std::move(repeated), 0));
    below = below.add(DispatchKey::Batched);
  }
  op.redispatchBoxed(below, stack);
}

Library registerAll() {
  Library aten(Library::Kind::kImpl, "aten", DispatchKey::VmapMode);
  const Dispatcher::Batch batch;
  for (const BatchRow* row : randomRows())
    aten.impl(OperatorHandle(*row->op).operator_name().str(), CppFunction::makeFromBoxedFunction<&randomKernel>());
  aten.impl("aten::dropout", CppFunction::makeFromBoxedFunction<&dropoutKernel>());
  return aten;
}

}  // namespace

// With the first vmap: the dictionary's operators are registered by then, which at static initialisation isn't sure.
void registerRandomKernels() { static const Library library = registerAll(); }

void runRandom(BatchedCall& call) {
  if (call.level->randomness == Randomness::kError) throwNotAllowed(call.op);
  call.level->randomness == Randomness::kSame ? same(call) : different(call);
}

}  // namespace shunt::levels
