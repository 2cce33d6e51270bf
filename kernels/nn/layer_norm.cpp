// The entries of layer_norm and its gradient: dense rows of any floating-point dtype. float and double are computed in
// place of the tensors' memory, 16-bit types in buffers of float.
#include "kernels/nn/layer_norm.h"

#include "kernels/nn/layer_norm_table.h"
#include "kernels/rows/loop_table.h"

#include <algorithm>
#include <memory>

namespace shunt::nn {
namespace {

using reduce::convertLoops;

template <class A>
std::unique_ptr<A[]> buffer(int64_t elements) {
  return std::make_unique_for_overwrite<A[]>(static_cast<size_t>(elements));
}

template <class A>
void load(A* to, const TensorImpl& t, int64_t first, int64_t n) {
  convertLoops<A>().load[static_cast<size_t>(t.dtype())](to, t.data() + first * elementSize(t.dtype()), 1, n);
}
template <class A>
void store(const TensorImpl& t, const A* from, int64_t first, int64_t n) {
  convertLoops<A>().store[static_cast<size_t>(t.dtype())](t.data() + first * elementSize(t.dtype()), from, 1, n);
}

/// A tensor's elements as A: its memory where they are, else a copy. Null for null.
template <class A>
class Values {
 public:
  Values(const TensorImpl* t, int64_t n) {
    if (t == nullptr) return;
    if (t->dtype() == scalar_type_of<A>) {
      data_ = reinterpret_cast<const A*>(t->data());
      return;
    }
    copy_ = buffer<A>(n);
    load(copy_.get(), *t, 0, n);
    data_ = copy_.get();
  }
  const A* get() const { return data_; }

 private:
  std::unique_ptr<A[]> copy_;
  const A* data_ = nullptr;
};

template <class A>
A* inPlace(const TensorImpl& t, int64_t first) {
  return reinterpret_cast<A*>(t.data()) + first;
}

/// Calls f(first, count) for runs of rows, on several threads where that pays.
template <class F>
void forRows(int64_t rows, int64_t n, const F& f) {
  if (rows * n <= kDefaultGrain) return f(0, rows);
  parallelFor(0, rows, std::max<int64_t>(1, kDefaultGrain / n),
              [&](int64_t begin, int64_t end) { f(begin, end - begin); });
}

/// `count` rows from `first` on, all operands of A's dtype: 64 rows of 256 floats take 3.2 us, row by row 6.4.
template <class A>
void forwardWhole(const Norm& c, const A* weight, const A* bias, int64_t first, int64_t count) {
  const auto at = [](const TensorImpl& t, int64_t i) { return reinterpret_cast<std::byte*>(inPlace<A>(t, i)); };
  rows::Call call = normCall(scalar_type_of<A>, c.n, c.eps, weight, bias);
  call.in[0] = at(*c.x, first * c.n);
  call.out[0] = at(*c.out, first * c.n);
  call.out[1] = at(*c.mean, first);
  call.out[2] = at(*c.rstd, first);
  call.outer = count;
  layerNormCall(scalar_type_of<A>)(call);
}

template <class A>
void forward(const Norm& c) {
  const Values<A> weight(c.weight, c.n), bias(c.bias, c.n);
  const auto loop = normLoops<A>().forward;
  forRows(c.rows, c.n, [&](int64_t first, int64_t count) {
    const bool own = c.x->dtype() == scalar_type_of<A>, own_statistics = c.mean->dtype() == scalar_type_of<A>;
    if (own && own_statistics && c.n > 0 && c.n <= kLongestNorm<A>)
      return forwardWhole<A>(c, weight.get(), bias.get(), first, count);
    const auto row = own ? nullptr : buffer<A>(c.n);
    A statistics[2];
    NormForward<A> call{weight.get(), bias.get(), &statistics[0], &statistics[1], c.n, static_cast<A>(c.eps)};
    for (int64_t r = first; r < first + count; ++r) {
      if (!own) load(row.get(), *c.x, r * c.n, c.n);
      loop(call, own ? inPlace<A>(*c.out, r * c.n) : row.get(), own ? inPlace<A>(*c.x, r * c.n) : row.get(), 0);
      if (!own) store(*c.out, row.get(), r * c.n, c.n);
      if (own_statistics) {
        *inPlace<A>(*c.mean, r) = statistics[0];
        *inPlace<A>(*c.rstd, r) = statistics[1];
      } else {
        store(*c.mean, &statistics[0], r, 1);
        store(*c.rstd, &statistics[1], r, 1);
      }
    }
  });
}

template <class A>
class Backward {
 public:
  explicit Backward(const NormGradient& c)
      : c_(c), weight_(c.weight, c.n), mean_(c.mean, c.rows), rstd_(c.rstd, c.rows) {
    parts_ = std::max<int64_t>(1, (c.rows + rowsOfNormPart(c.n) - 1) / rowsOfNormPart(c.n));
    if (c.weight_grad != nullptr) weight_grads_ = zeros();
    if (c.bias_grad != nullptr) bias_grads_ = zeros();
  }

  void run() const {
    if (parts_ == 1)
      part(0);
    else
      parallelFor(0, parts_, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) part(i);
      });
    if (c_.weight_grad != nullptr) finish(*c_.weight_grad, weight_grads_.get());
    if (c_.bias_grad != nullptr) finish(*c_.bias_grad, bias_grads_.get());
  }

 private:
  std::unique_ptr<A[]> zeros() const {
    auto all = buffer<A>(parts_ * c_.n);
    std::fill_n(all.get(), parts_ * c_.n, A(0));
    return all;
  }

  void part(int64_t i) const {
    const auto at = [&](const std::unique_ptr<A[]>& all) { return all != nullptr ? all.get() + i * c_.n : nullptr; };
    const NormBackward<A> call{weight_.get(), at(weight_grads_), at(bias_grads_), c_.n};
    const auto loop = normLoops<A>().backward;
    const bool own = c_.x->dtype() == scalar_type_of<A>;
    const auto rows = own ? nullptr : buffer<A>(2 * c_.n);
    const int64_t last = std::min(c_.rows, (i + 1) * rowsOfNormPart(c_.n));
    for (int64_t r = i * rowsOfNormPart(c_.n); r < last; ++r) {
      const int64_t first = r * c_.n;
      if (own) {
        loop(call, c_.x_grad != nullptr ? inPlace<A>(*c_.x_grad, first) : nullptr, inPlace<A>(*c_.grad, first),
             inPlace<A>(*c_.x, first), mean_.get()[r], rstd_.get()[r]);
        continue;
      }
      A* const grad = rows.get();
      A* const x = grad + c_.n;
      load(grad, *c_.grad, first, c_.n);
      load(x, *c_.x, first, c_.n);
      loop(call, c_.x_grad != nullptr ? grad : nullptr, grad, x, mean_.get()[r], rstd_.get()[r]);
      if (c_.x_grad != nullptr) store(*c_.x_grad, grad, first, c_.n);
    }
  }

  void finish(const TensorImpl& to, A* parts) const {
    for (int64_t p = 1; p < parts_; ++p)
      for (int64_t i = 0; i < c_.n; ++i) parts[i] += parts[p * c_.n + i];
    store(to, parts, 0, c_.n);
  }

  const NormGradient& c_;
  const Values<A> weight_, mean_, rstd_;
  int64_t parts_;
  std::unique_ptr<A[]> weight_grads_, bias_grads_;
};

template <class Entry, class Miss>
SHUNT_COLD void record(const char* family, Entry* entry, Entry* expecting, Miss* miss, rows::LoopFn loop,
                       ScalarType dtype, std::initializer_list<const TensorImpl*> inputs) {
  const auto address = [](auto* f) { return reinterpret_cast<const void*>(f); };
  rows::record({family, address(entry), address(expecting), address(miss), loop, 0, dtype}, inputs);
}

#define SHUNT_CALLS(isa) &isa::kNormCalls
constexpr const NormCalls* kCalls[kNumIsas] = SHUNT_PER_ISA(SHUNT_CALLS);
#undef SHUNT_CALLS
const NormCalls& calls() { return *kCalls[static_cast<int>(::shunt::detail::activeIsa())]; }

}  // namespace

rows::LoopFn layerNormCall(ScalarType dtype) { return dtype == kDouble ? calls().forward_double : calls().forward; }
rows::LoopFn layerNormBackwardCall(ScalarType dtype) {
  return dtype == kDouble ? calls().backward_double : calls().backward;
}

void layerNorm(const Norm& c) {
  ++rows::interpreted_calls;
  const ScalarType dtype = c.x->dtype();
  if (rows::recording()) [[unlikely]]
    record("layer_norm", &layerNorm, &layerNormExpected, &layerNormMissed, layerNormCall(dtype), dtype,
           {c.x, c.weight, c.bias});
  if (dtype == kDouble)
    forward<double>(c);
  else
    forward<float>(c);
}

void layerNormBackward(const NormGradient& c) {
  ++rows::interpreted_calls;
  const ScalarType dtype = c.x->dtype();
  if (rows::recording()) [[unlikely]]
    record("layer_norm backward", &layerNormBackward, &layerNormBackwardExpected, &layerNormBackwardMissed,
           layerNormBackwardCall(dtype), dtype, {c.grad, c.x, c.mean, c.rstd, c.weight});
  if (dtype == kDouble)
    Backward<double>(c).run();
  else
    Backward<float>(c).run();
}

void layerNormMissed(const Norm& c, jit::MissCount* misses) { ::shunt::detail::runMissed(misses, &layerNorm, c); }

void layerNormBackwardMissed(const NormGradient& c, jit::MissCount* misses) {
  ::shunt::detail::runMissed(misses, &layerNormBackward, c);
}

}  // namespace shunt::nn
