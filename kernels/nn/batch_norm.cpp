#include "kernels/nn/batch_norm.h"

#include "kernels/rows/cascade.h"

#include <shunt/core/parallel.h>
#include <shunt/elementwise/cast.h>

#include <algorithm>
#include <cmath>
#include <memory>

namespace shunt::nn {
namespace {

/// One element of a vector, whose stride may be any, in the type that is computed in.
template <class A>
A elementOf(const TensorImpl& vector, int64_t i) {
  A value;
  reduce::convertLoops<A>().load[static_cast<size_t>(vector.dtype())](
      &value, vector.data() + i * vector.strides()[0] * vector.itemsize(), 0, 1);
  return value;
}

template <class A>
void setElement(const TensorImpl& vector, int64_t i, A value) {
  reduce::convertLoops<A>().store[static_cast<size_t>(vector.dtype())](
      vector.data() + i * vector.strides()[0] * vector.itemsize(), &value, 0, 1);
}

/// The channels of one dense tensor as runs of elements side by side.
class Channels {
 public:
  explicit Channels(const TensorImpl& t)
      : data_(t.data()), dtype_(static_cast<size_t>(t.dtype())), item_(t.itemsize()) {
    samples = t.sizes()[0];
    channels = t.sizes()[1];
    for (int64_t d = 2; d < t.dim(); ++d) positions *= t.sizes()[static_cast<size_t>(d)];
  }
  template <class A>
  void load(int64_t channel, A* to) const {
    forEachRun(channel, [&](std::byte* run, int64_t stride, int64_t n) {
      reduce::convertLoops<A>().load[dtype_](to, run, stride, n);
      to += n;
    });
  }
  template <class A>
  void store(int64_t channel, const A* from) const {
    forEachRun(channel, [&](std::byte* run, int64_t stride, int64_t n) {
      reduce::convertLoops<A>().store[dtype_](run, from, stride, n);
      from += n;
    });
  }
  int64_t size() const { return samples * positions; }

  int64_t samples = 0, channels = 0, positions = 1;

 private:
  /// One run of all samples where there is one position.
  template <class F>
  void forEachRun(int64_t channel, const F& f) const {
    if (positions == 1) return f(data_ + channel * item_, channels, samples);
    for (int64_t n = 0; n < samples; ++n) f(data_ + (n * channels + channel) * positions * item_, 1, positions);
  }
  std::byte* data_;
  size_t dtype_;
  int64_t item_;
};

/// f(channel) for all, in parts that depend on the shape only.
template <class F>
void forEachChannel(const Channels& c, const F& f) {
  const int64_t grain = std::max<int64_t>(1, kDefaultGrain / std::max<int64_t>(c.size(), 1));
  parallelFor(0, c.channels, grain, [&](int64_t begin, int64_t end) {
    const auto room = std::make_unique_for_overwrite<double[]>(static_cast<size_t>(3 * c.size()));
    for (int64_t k = begin; k < end; ++k) f(k, room.get());
  });
}

template <class A>
A sumOf(const A* x, int64_t n) {
  using reduce::kBlock;
  const auto block = reduce::reductionLoops<A>(reduce::indexOf<accumulators::Sum>()).block;
  reduce::Cascade<A> sums;
  for (int64_t b = 0; b < n; b += kBlock) sums.push(block(x + b, std::min(kBlock, n - b), A(0), A(0)));
  return sums.result();
}

template <class A>
struct Moments {
  A mean, squares;  // the sum of squared differences from the mean
};

/// Leaves x - mean in place of x.
template <class A>
Moments<A> centre(A* x, A* room, int64_t n) {
  const A mean = sumOf(x, n) / static_cast<A>(n);
  for (int64_t i = 0; i < n; ++i) x[i] -= mean;
  for (int64_t i = 0; i < n; ++i) room[i] = x[i] * x[i];
  return {mean, sumOf(room, n)};
}

template <class A>
void updateRunning(const TensorImpl* running, int64_t channel, double momentum, A value) {
  if (running == nullptr) return;
  const double kept = (1 - momentum) * static_cast<double>(elementOf<A>(*running, channel));
  setElement(*running, channel, static_cast<A>(momentum * static_cast<double>(value) + kept));
}

template <class A>
void forwardChannel(const BatchNorm& norm, const Channels& from, const Channels& to, int64_t channel, A* x, A* room) {
  const int64_t n = from.size();
  from.load(channel, x);
  A invstd;
  if (norm.training) {
    const Moments<A> m = centre(x, room, n);
    const A count = static_cast<A>(n);
    invstd = A(1) / std::sqrt(m.squares / count + static_cast<A>(norm.eps));
    updateRunning(norm.running_mean, channel, norm.momentum, m.mean);
    updateRunning(norm.running_var, channel, norm.momentum, m.squares / (count - A(1)));
    setElement(*norm.mean, channel, m.mean);
    setElement(*norm.invstd, channel, invstd);
  } else {
    const A mean = elementOf<A>(*norm.running_mean, channel);
    invstd = A(1) / std::sqrt(elementOf<A>(*norm.running_var, channel) + static_cast<A>(norm.eps));
    for (int64_t i = 0; i < n; ++i) x[i] -= mean;
  }
  const A factor = norm.weight != nullptr ? invstd * elementOf<A>(*norm.weight, channel) : invstd;
  const A shift = norm.bias != nullptr ? elementOf<A>(*norm.bias, channel) : A(0);
  if (norm.bias != nullptr)
    for (int64_t i = 0; i < n; ++i) x[i] = x[i] * factor + shift;
  else
    for (int64_t i = 0; i < n; ++i) x[i] = x[i] * factor;
  to.store(channel, x);
}

/// With y = (x - mean) * invstd: of x invstd * weight * (grad - mean(grad) - y * mean(grad * y)), where the statistics
/// are the batch's, else invstd * weight * grad; of the weight the sum of grad * y, of the bias that of grad.
template <class A>
void backwardChannel(const BatchNormGradient& to, const Channels& grads, const Channels& xs, int64_t channel, A* grad,
                     A* x, A* room) {
  const int64_t n = xs.size();
  grads.load(channel, grad);
  xs.load(channel, x);
  const A mean = elementOf<A>(*to.mean, channel), variance = elementOf<A>(*to.variance, channel);
  const A invstd = to.training ? variance : A(1) / std::sqrt(variance + static_cast<A>(to.eps));
  for (int64_t i = 0; i < n; ++i) x[i] = (x[i] - mean) * invstd;
  for (int64_t i = 0; i < n; ++i) room[i] = grad[i] * x[i];
  const A sum = sumOf(grad, n), product = sumOf(room, n);
  if (to.weight_grad != nullptr) setElement(*to.weight_grad, channel, product);
  if (to.bias_grad != nullptr) setElement(*to.bias_grad, channel, sum);
  if (to.x_grad == nullptr) return;
  const A factor = to.weight != nullptr ? invstd * elementOf<A>(*to.weight, channel) : invstd;
  if (to.training) {
    const A of_grad = sum / static_cast<A>(n), of_product = product / static_cast<A>(n);
    for (int64_t i = 0; i < n; ++i) grad[i] = ((grad[i] - of_grad) - x[i] * of_product) * factor;
  } else {
    for (int64_t i = 0; i < n; ++i) grad[i] *= factor;
  }
  Channels(*to.x_grad).store(channel, grad);
}

template <class A>
void runForward(const BatchNorm& norm) {
  const Channels from(*norm.x), to(*norm.out);
  forEachChannel(from, [&](int64_t channel, double* room) {
    A* const x = reinterpret_cast<A*>(room);
    forwardChannel<A>(norm, from, to, channel, x, x + from.size());
  });
}

template <class A>
void runBackward(const BatchNormGradient& gradient) {
  const Channels grads(*gradient.grad), xs(*gradient.x);
  forEachChannel(xs, [&](int64_t channel, double* room) {
    A* const grad = reinterpret_cast<A*>(room);
    backwardChannel<A>(gradient, grads, xs, channel, grad, grad + xs.size(), grad + 2 * xs.size());
  });
}

}  // namespace

void batchNorm(const BatchNorm& norm) {
  norm.x->dtype() == kDouble ? runForward<double>(norm) : runForward<float>(norm);
}

void batchNormBackward(const BatchNormGradient& gradient) {
  gradient.x->dtype() == kDouble ? runBackward<double>(gradient) : runBackward<float>(gradient);
}

}  // namespace shunt::nn
