// Draws a case of an operator, dtype and form: draft.h.
#include "tests/parity/draft.h"
#include "tests/parity/dtypes.h"

#include <algorithm>

namespace parity {
namespace {

// Whether some tensor input carries the cell's dtype; a factory's out= carries it otherwise.
bool hasTensorInput(const shunt::FunctionSchema& schema) {
  return std::ranges::any_of(schema.arguments(),
                             [](const auto& a) { return a.type.kind == shunt::TypeKind::Tensor && !a.is_out(); });
}

std::vector<size_t> outArguments(const shunt::FunctionSchema& schema) {
  std::vector<size_t> out;
  for (size_t i = 0; i < schema.arguments().size(); ++i)
    if (schema.arguments()[i].is_out()) out.push_back(i);
  return out;
}

struct OutGuess {
  int dtype;
  std::vector<int64_t> sizes;
};

// What the operator makes of its inputs, asked of the model with an empty out= of one dtype after another.
std::vector<OutGuess> guessOuts(const Draft& d, const std::vector<size_t>& outs) {
  const Case& c = d.c;
  const auto nameOf = [&](size_t k) -> const std::string& { return d.schema.arguments()[outs[k]].name; };
  const auto isOfLapack = [&](size_t k) { return nameOf(k) == "pivots" || nameOf(k) == "info"; };
  bool of_lapack = false;
  for (size_t k = 0; k < outs.size(); ++k) of_lapack |= isOfLapack(k);
  for (const int candidate : {d.dtype, 6, 11, 4, 7}) {
    Case probe = c;
    for (size_t k = 0; k < outs.size(); ++k) {
      StorageSpec storage;
      // int32; max.dim_max: values, then indices; what the operator gives otherwise
      storage.dtype = isOfLapack(k) ? 3 : k == 1 && !of_lapack ? 4 : candidate;
      TensorSpec t;
      t.storage = static_cast<int>(probe.storages.size());
      t.sizes = {0};
      t.strides = {1};
      probe.storages.push_back(storage);
      probe.tensors.push_back(t);
      probe.args[outs[k]] = Value::ofTensor(static_cast<int64_t>(probe.tensors.size()) - 1);
    }
    probe.no_grad = true;
    const Outcome outcome = runModel(probe);
    if (outcome.threw) continue;
    std::vector<OutGuess> guesses;
    for (const size_t out : outs) {
      const TensorState& t = outcome.after[static_cast<size_t>(probe.args[out].ints[0])];
      guesses.push_back({t.dtype, t.sizes});
    }
    return guesses;
  }
  return std::vector<OutGuess>(outs.size(), {d.dtype, {0}});
}

void drawOuts(Draft& d, bool plain) {
  const std::vector<size_t> outs = outArguments(d.schema);
  if (outs.empty()) return;
  const std::vector<OutGuess> guesses = guessOuts(d, outs);
  for (size_t k = 0; k < outs.size(); ++k) {
    const OutGuess& guess = guesses[k];
    const bool cell_decides = !hasTensorInput(d.schema);
    const int dtype = plain || cell_decides || d.rng.chance(0.75) ? guess.dtype : d.rng.pick(allDtypes());
    const double which = d.rng.uniform();
    const std::vector<int64_t> sizes = plain || which < 0.65 ? guess.sizes
                                       : which < 0.8         ? std::vector<int64_t>{0}
                                                             : drawShape(d.rng);
    const Data data = (d.rule.flags & kProbabilities) ? Data::kUnitInterval : Data::kSmallIntegers;
    const bool writable = plain || (d.rule.flags & kNoOverlap) || d.rng.chance(0.95);
    d.c.args[outs[k]] = Value::ofTensor(addTensor(d.rng, d.c, dtype, sizes, data, writable));
  }
}

// libtorch's cat divides by the stride of out=, also of one that addresses nothing.
void leaveNoIdleZero(Case& c) {
  for (TensorSpec& t : c.tensors)
    for (size_t i = 0; i < t.sizes.size(); ++i)
      if (t.sizes[i] == 1 && t.strides[i] == 0) t.strides[i] = 1;
}

// Two elements of a list that are one tensor: cat([x, x]).
void aliasInList(Draft& d, Value& list) {
  if (list.ints.empty()) return;
  const auto any = [&] { return static_cast<size_t>(d.rng.range(0, static_cast<int64_t>(list.ints.size()) - 1)); };
  const size_t to = any(), from = any();
  const auto sizesOf = [&](size_t i) { return d.c.tensors[static_cast<size_t>(list.ints[i])].sizes; };
  if (sizesOf(to) == sizesOf(from)) list.ints[to] = list.ints[from];
}

// Two arguments that are one tensor: x.add_(x), add(x, x, out=x), mm(x, x).
void aliasArguments(Draft& d) {
  std::vector<size_t> tensors;
  for (size_t i = 0; i < d.c.args.size(); ++i) {
    if (d.c.args[i].kind == Value::Kind::kTensor) tensors.push_back(i);
    if (d.c.args[i].kind == Value::Kind::kTensorList) aliasInList(d, d.c.args[i]);
  }
  if (tensors.size() < 2) return;
  const size_t to = d.rng.pick(tensors), from = d.rng.pick(tensors);
  const auto dtypeOf = [&](size_t i) { return d.c.storages[static_cast<size_t>(d.tensor(d.c.args[i]).storage)].dtype; };
  const auto writes = [&](size_t i) { return d.schema.arguments()[i].is_write(); };
  if (dtypeOf(to) != dtypeOf(from)) return;
  const bool same_sizes = d.tensor(d.c.args[to]).sizes == d.tensor(d.c.args[from]).sizes;
  // What is elementwise takes any tensor twice; elsewhere integers may be indices, which not every number is.
  const bool fits =
      isElementwise(d.rule) ? same_sizes || (!writes(to) && !writes(from)) : same_sizes && isFloating(dtypeOf(to));
  if (fits) d.c.args[to] = d.c.args[from];
}

}  // namespace

Case drawCase(const shunt::FunctionSchema& schema, int dtype, bool with_grad, bool plain, uint64_t seed) {
  Draft d(schema, dtype, with_grad, plain, seed);
  for (const shunt::Argument& a : schema.arguments()) d.c.args.push_back(a.is_out() ? Value::none() : d.arg(a.name));
  // Arguments drawn for a later one were kept; presets may have replaced what was drawn first.
  d.c.no_grad = schema.isOut() ? d.rng.chance(0.5) : with_grad && !plain && d.rng.chance(0.12);
  d.c.backward = with_grad;
  d.c.expanded_gradients = d.rng.chance(0.25);
  if (schema.isOut() && d.has("dtype") && d.arg("dtype").kind == Value::Kind::kInt)
    d.c.compute_dtype = static_cast<int>(d.arg("dtype").i);
  drawOuts(d, plain);
  if (!plain && d.rng.chance(0.1)) aliasArguments(d);
  if (!plain && d.rng.chance(0.14)) breakCase(d.c, schema, d.rng);
  if (schema.isOut() && (d.op == "cat" || d.op == "stack")) leaveNoIdleZero(d.c);
  return std::move(d.c);
}

}  // namespace parity
