// Rules of convolutions, batch_norm and pooling. Their tensors have a dimension of samples already: the batch is folded
// into it, or, where each sample of the batch has its own weights, into the channels.
#include "src/transforms/vmap/call.h"

#include <shunt/ops.h>

#include <array>

namespace shunt::levels::rules {
namespace {

/// [batch, n, rest] as [batch * n, rest].
Tensor folded(const Tensor& value) {
  std::vector<int64_t> sizes = value.sizes().vec();
  sizes[1] *= sizes[0];
  sizes.erase(sizes.begin());
  return ops::reshape::call(value, sizes);
}

/// The other way round. The batch has samples: without any, nothing tells `n`.
Tensor unfolded(const Tensor& t, int64_t batch) {
  std::vector<int64_t> sizes = t.sizes().vec();
  sizes[0] /= batch;
  sizes.insert(sizes.begin(), batch);
  return ops::reshape::call(t, sizes);
}

/// [batch, n, channels, rest] as [n, batch * channels, rest].
Tensor foldedChannels(const Tensor& value) {
  const Tensor moved = ops::transpose_int::call(value, 0, 1);
  std::vector<int64_t> sizes = moved.sizes().vec();
  sizes[2] *= sizes[1];
  sizes.erase(sizes.begin() + 1);
  return ops::reshape::call(moved, sizes);
}

Tensor unfoldedChannels(const Tensor& t, int64_t batch) {
  std::vector<int64_t> sizes = t.sizes().vec();
  sizes[1] /= batch;
  sizes.insert(sizes.begin() + 1, batch);
  return ops::transpose_int::call(ops::reshape::call(t, sizes), 0, 1);
}

/// Of all samples, whether the argument is batched or not.
Tensor foldedOfAll(const BatchedCall& call, const Tensor& t) { return folded(call.expanded(t)); }
IValue foldedOrNone(const BatchedCall& call, const Tensor& t) {
  return t.defined() ? IValue(foldedOfAll(call, t)) : IValue();
}

Stack called(const BatchedCall& call, Stack values) {
  call.op.callBoxed(&values);
  return values;
}

/// Images have as many dimensions as the weights, whose first is not theirs.
bool areImages(const Tensor& input, const Tensor& weight) { return weight.dim() >= 3 && input.dim() == weight.dim(); }

bool haveOneDtype(std::initializer_list<Tensor> tensors) {
  for (const Tensor& t : tensors)
    if (t.defined() && t.dtype() != tensors.begin()->dtype()) return false;
  return true;
}

/// Whether it is a bias of one sample's channels, that is, of the weights' rows. Undefined is.
bool isBias(const Tensor& bias, const Tensor& weight) {
  return !bias.defined() || (bias.dim() == 1 && bias.numel() == weight.size(0));
}

/// result + bias of the channels, of one or of all samples.
Tensor withBias(const BatchedCall& call, const Tensor& result, const Tensor& bias) {
  if (!bias.defined()) return result;
  std::vector<int64_t> shape(static_cast<size_t>(result.dim()), 1);
  shape[0] = call.size;
  shape[2] = bias.numel();
  return ops::add_Tensor::call(result, ops::reshape::call(call.expanded(bias), shape), 1);
}

}  // namespace

void convolution(BatchedCall& call) {
  const Tensor &input = call.tensor(0), &weight = call.tensor(1), bias = call.optionalTensor(2);
  const bool transposed = call.flag(6);
  if (call.size == 0 || !areImages(input, weight) || (bias.defined() && bias.dim() != 1) ||
      (!transposed && !isBias(bias, weight)) || !haveOneDtype({input, weight, bias}))
    return loopSilently(call);
  Stack values = call.args;
  if (call.isBatched(weight)) {
    values[0] = IValue(foldedChannels(call.expanded(input)));
    values[1] = IValue(foldedOfAll(call, weight));
    values[2] = foldedOrNone(call, bias);
    values[8] = IValue(call.integer(8) * call.size);
    return call.setResult(unfoldedChannels(called(call, std::move(values))[0].toTensor(), call.size));
  }
  const bool apart = bias.defined() && call.isBatched(bias);
  values[0] = IValue(foldedOfAll(call, input));
  if (apart) values[2] = IValue();
  const Tensor result = unfolded(called(call, std::move(values))[0].toTensor(), call.size);
  call.setResult(apart ? withBias(call, result, bias) : result);
}

void convolutionBackward(BatchedCall& call) {
  const Tensor &grad = call.tensor(0), &input = call.tensor(1), &weight = call.tensor(2);
  std::vector<char> mask = call.args[10].toBoolVector();
  if (call.size == 0 || !areImages(input, weight) || grad.dim() != input.dim() || mask.size() != 3 ||
      !input.is_floating_point() || !haveOneDtype({input, weight, grad}))
    return loopSilently(call);
  Tensor to_input, to_weight, to_bias;
  if (mask[0] && !call.isBatched(weight)) {
    Stack values = call.args;
    values[0] = IValue(foldedOfAll(call, grad));
    values[1] = IValue(foldedOfAll(call, input));
    values[10] = IValue(std::vector<char>{1, 0, 0});
    to_input = unfolded(called(call, std::move(values))[0].toTensor(), call.size);
    mask[0] = 0;
  }
  if (mask[0] || mask[1] || mask[2]) {
    Stack values = call.args;
    values[0] = IValue(foldedChannels(call.expanded(grad)));
    values[1] = IValue(foldedChannels(call.expanded(input)));
    values[2] = IValue(foldedOfAll(call, weight));
    values[3] = IValue(std::vector<int64_t>{grad.size(1) * call.size});
    values[9] = IValue(call.integer(9) * call.size);
    values[10] = IValue(mask);
    const Stack results = called(call, std::move(values));
    if (mask[0]) to_input = unfoldedChannels(results[0].toTensor(), call.size);
    if (mask[1]) to_weight = unfolded(results[1].toTensor(), call.size);
    if (mask[2]) to_bias = unfolded(results[2].toTensor(), call.size);
  }
  for (Tensor* t : {&to_input, &to_weight, &to_bias}) call.addResult(std::move(*t));
}

namespace {

/// Vectors of one element a channel, of which none has another size.
bool areVectors(const BatchedCall& call, std::initializer_list<size_t> positions, int64_t channels) {
  for (const size_t i : positions) {
    const Tensor t = call.optionalTensor(i);
    if (t.defined() && (t.dim() != 1 || t.numel() != channels)) return false;
  }
  return true;
}

/// Written by the operator: the elements of the batch themselves where they lie side by side, else copied back.
class RunningVector {
 public:
  RunningVector(const BatchedCall& call, const Tensor& t) : batch_(call.size) {
    if (!t.defined()) return;
    value_ = call.expanded(t);
    flat_ = folded(value_);
    is_copy_ = !inMemory(flat_).is_alias_of(inMemory(value_));
  }
  IValue argument() const { return flat_.defined() ? IValue(flat_) : IValue(); }
  void store() const {
    if (is_copy_) ops::copy_::call(const_cast<Tensor&>(value_), unfolded(flat_, batch_), false);
  }

 private:
  int64_t batch_;
  Tensor value_, flat_;
  bool is_copy_ = false;
};

void checkRunningBatched(const BatchedCall& call, const Tensor& running) {
  SHUNT_CHECK(!running.defined() || call.isBatched(running),
              "Batch norm got a batched tensor as input while the running_mean or running_var, which will be updated "
              "in place, were not batched.");
}

}  // namespace

void batchNorm(BatchedCall& call) {
  const Tensor& input = call.tensor(0);
  const Tensor mean = call.optionalTensor(3), var = call.optionalTensor(4);
  const bool training = call.flag(5);
  if (call.size == 0 || input.dim() < 2 || !areVectors(call, {1, 2, 3, 4}, input.size(1))) return loopSilently(call);
  if (training)
    for (const Tensor& running : {mean, var}) checkRunningBatched(call, running);
  const RunningVector all_means(call, mean), all_vars(call, var);
  Stack values = call.args;
  values[0] = IValue(foldedChannels(call.expanded(input)));
  for (size_t i : {1, 2}) values[i] = foldedOrNone(call, call.optionalTensor(i));
  values[3] = all_means.argument();
  values[4] = all_vars.argument();
  const Stack results = called(call, std::move(values));
  if (training) {
    all_means.store();
    all_vars.store();
  }
  call.addResult(unfoldedChannels(results[0].toTensor(), call.size));
  for (size_t i : {1, 2}) call.addResult(unfolded(results[i].toTensor(), call.size));
}

void batchNormBackward(BatchedCall& call) {
  const Tensor &grad = call.tensor(0), &input = call.tensor(1);
  const bool fits = input.dim() >= 2 && grad.dim() == input.dim() && areVectors(call, {2, 3, 4, 5, 6}, input.size(1));
  if (call.size == 0 || !fits) return loopSilently(call);
  Stack values = call.args;
  for (size_t i : {0, 1}) values[i] = IValue(foldedChannels(call.expanded(call.tensor(i))));
  for (size_t i : {2, 3, 4, 5, 6}) values[i] = foldedOrNone(call, call.optionalTensor(i));
  const Stack results = called(call, std::move(values));
  const Tensor &to_input = results[0].toTensor(), &to_weight = results[1].toTensor(), &to_bias = results[2].toTensor();
  call.addResult(to_input.defined() ? unfoldedChannels(to_input, call.size) : to_input);
  call.addResult(to_weight.defined() ? unfolded(to_weight, call.size) : to_weight);
  call.addResult(to_bias.defined() ? unfolded(to_bias, call.size) : to_bias);
}

/// All pooling operators and their gradients: images with or without a dimension of samples.
void pool(BatchedCall& call) {
  const int64_t dims = call.tensor(0).dim();
  bool good = call.size != 0 && (dims == 3 || dims == 4);
  for (const IValue& v : call.args) good = good && (!v.isTensor() || v.toTensor().dim() == dims);
  if (!good) return loopSilently(call);
  Stack values = call.args;
  mapTensors(values, values.size(), [&](const Tensor& t) {
    const Tensor value = call.expanded(t);
    return dims == 4 ? folded(value) : value;
  });
  for (IValue& v : values = called(call, std::move(values)))
    call.addResult(dims == 4 ? unfolded(v.toTensor(), call.size) : v.toTensor());
}

}  // namespace shunt::levels::rules
