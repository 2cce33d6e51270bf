// The operators softmax and log_softmax and their gradients.
//
// A softmax of float or double runs in place of the tensors' memory, along rows or down groups of neighbouring columns;
// everything else is gathered into a buffer of the accumulator type.
#include "kernels/nn/softmax.h"
#include "generated/native_functions.h"
#include "kernels/common/view_util.h"
#include "kernels/nn/dense.h"
#include "kernels/nn/softmax_table.h"
#include "kernels/rows/loop_table.h"
#include "kernels/wrappers/structured.h"

#include <shunt/core/parallel.h>

#include <memory>

namespace shunt::native {

namespace {

using nn::softmaxLoops;
using reduce::convertLoops;

using Geometry = rows::Shape;

Geometry geometryOf(const TensorImpl& t, int64_t d) { return {t, maybe_wrap_dim(d, t.dim()), 1}; }

/// Calls f(first, count) for runs of rows, on several threads where that pays.
template <class F>
void forRows(const Geometry& g, const F& f) {
  const int64_t rows = g.outer * g.inner;
  if (rows * g.n <= kDefaultGrain)
    f(0, rows);
  else
    parallelFor(0, rows, std::max<int64_t>(1, kDefaultGrain / g.n),
                [&](int64_t begin, int64_t end) { f(begin, end - begin); });
}

/// Calls f(outer, first column, columns) for groups of at most kColumns columns, on several threads where that pays.
template <class F>
void forColumns(const Geometry& g, const F& f) {
  const int64_t groups = (g.inner + nn::kColumns - 1) / nn::kColumns;
  const auto run = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t column = i % groups * nn::kColumns;
      f(i / groups, column, std::min(nn::kColumns, g.inner - column));
    }
  };
  const int64_t size = g.n * std::min(nn::kColumns, g.inner);
  if (g.outer * groups * size <= kDefaultGrain)
    run(0, g.outer * groups);
  else
    parallelFor(0, g.outer * groups, std::max<int64_t>(1, kDefaultGrain / size), run);
}

/// Rows of a contiguous tensor of any dtype as rows of A.
template <class A>
struct RowAccess {
  RowAccess(const Tensor& t, const Geometry& geometry)
      : base(t.unsafeGetTensorImpl()->data()),
        itemsize(t.itemsize()),
        dtype(static_cast<size_t>(t.dtype())),
        own_type(t.dtype() == scalar_type_of<A>),
        direct(own_type && geometry.inner == 1),
        g(geometry) {}
  std::byte* at(int64_t row) const { return base + (row / g.inner * g.n * g.inner + row % g.inner) * itemsize; }
  A* inPlace(int64_t row) const { return reinterpret_cast<A*>(at(row)); }
  void load(A* to, int64_t row) const { convertLoops<A>().load[dtype](to, at(row), g.inner, g.n); }
  void store(const A* from, int64_t row) const { convertLoops<A>().store[dtype](at(row), from, g.inner, g.n); }

  /// The first element of a column.
  std::byte* top(int64_t outer, int64_t column) const { return base + (outer * g.n * g.inner + column) * itemsize; }
  A* columnInPlace(int64_t outer, int64_t column) const { return reinterpret_cast<A*>(top(outer, column)); }
  /// Columns to or from a dense n x columns buffer.
  void loadColumns(A* to, int64_t outer, int64_t column, int64_t columns) const {
    const std::byte* from = top(outer, column);
    for (int64_t i = 0; i < g.n; ++i)
      convertLoops<A>().load[dtype](to + i * columns, from + i * g.inner * itemsize, 1, columns);
  }
  void storeColumns(const A* from, int64_t outer, int64_t column, int64_t columns) const {
    std::byte* to = top(outer, column);
    for (int64_t i = 0; i < g.n; ++i)
      convertLoops<A>().store[dtype](to + i * g.inner * itemsize, from + i * columns, 1, columns);
  }

  std::byte* base;
  int64_t itemsize;
  size_t dtype;
  bool own_type;
  bool direct;
  const Geometry& g;
};

template <class A>
std::unique_ptr<A[]> buffer(int64_t elements) {
  return std::make_unique_for_overwrite<A[]>(static_cast<size_t>(elements));
}

template <class A>
void forwardDown(const RowAccess<A>& from, const RowAccess<A>& to, const Geometry& g, bool log) {
  const auto loop = softmaxLoops<A>().forwardColumns[log ? 1 : 0];
  forColumns(g, [&](int64_t outer, int64_t column, int64_t columns) {
    if (from.own_type)
      return loop(to.columnInPlace(outer, column), from.columnInPlace(outer, column), g.n, g.inner, columns);
    const auto block = buffer<A>(g.n * columns);
    from.loadColumns(block.get(), outer, column, columns);
    loop(block.get(), block.get(), g.n, columns, columns);
    to.storeColumns(block.get(), outer, column, columns);
  });
}

template <class A>
void backwardDown(const RowAccess<A>& from, const RowAccess<A>& result, const RowAccess<A>& to, const Geometry& g,
                  bool log) {
  const auto loop = softmaxLoops<A>().backwardColumns[log ? 1 : 0];
  forColumns(g, [&](int64_t outer, int64_t column, int64_t columns) {
    if (from.own_type)
      return loop(to.columnInPlace(outer, column), from.columnInPlace(outer, column),
                  result.columnInPlace(outer, column), g.n, g.inner, columns);
    const auto blocks = buffer<A>(2 * g.n * columns);
    A* const grad = blocks.get();
    A* const y = grad + g.n * columns;
    from.loadColumns(grad, outer, column, columns);
    result.loadColumns(y, outer, column, columns);
    loop(grad, grad, y, g.n, columns, columns);
    to.storeColumns(grad, outer, column, columns);
  });
}

template <class A>
void forward(const Tensor& in, const Tensor& out, const Geometry& g, bool log) {
  const auto loop = softmaxLoops<A>().forward[log ? 1 : 0];
  const RowAccess<A> from(in, g), to(out, g);
  if (g.inner >= nn::kMinColumns) return forwardDown(from, to, g, log);
  forRows(g, [&](int64_t first, int64_t count) {
    if (from.direct && to.direct) return loop(to.inPlace(first), from.inPlace(first), count, g.n);
    const auto row = buffer<A>(g.n);
    for (int64_t r = first; r < first + count; ++r) {
      from.load(row.get(), r);
      loop(row.get(), row.get(), 1, g.n);
      to.store(row.get(), r);
    }
  });
}

template <class A>
void backward(const Tensor& grad, const Tensor& y, const Tensor& out, const Geometry& g, bool log) {
  const auto loop = softmaxLoops<A>().backward[log ? 1 : 0];
  const RowAccess<A> from(grad, g), result(y, g), to(out, g);
  if (g.inner >= nn::kMinColumns) return backwardDown(from, result, to, g, log);
  forRows(g, [&](int64_t first, int64_t count) {
    if (from.direct && result.direct && to.direct)
      return loop(to.inPlace(first), from.inPlace(first), result.inPlace(first), count, g.n);
    const auto rows = buffer<A>(2 * g.n);
    A* const grad_row = rows.get();
    A* const y_row = grad_row + g.n;
    for (int64_t r = first; r < first + count; ++r) {
      from.load(grad_row, r);
      result.load(y_row, r);
      loop(grad_row, grad_row, y_row, 1, g.n);
      to.store(grad_row, r);
    }
  });
}

ResultMeta forwardMeta(const char* name, const Tensor& self, int64_t dim, bool half_to_float, bool log) {
  const TensorImpl& impl = implOf(self, name);
  SHUNT_CHECK(!half_to_float, log ? "log_softmax" : "softmax",
              " with half to float conversion is not supported on CPU");
  if (!isFloatingType(impl.dtype()) && !geometryOf(impl, dim).empty())  // nothing to compute: any dtype, as in PyTorch
    ::shunt::detail::throwNotImplementedFor(log ? "log_softmax_lastdim_kernel_impl" : "softmax_lastdim_kernel_impl",
                                            impl.dtype());
  maybe_wrap_dim(dim, impl.dim());
  return ResultMeta(impl, impl.sizes(), impl.dtype());
}

ResultMeta backwardMeta(const char* name, const Tensor& grad, const Tensor& output, int64_t dim,
                        ScalarType input_dtype) {
  const TensorImpl& grad_impl = implOf(grad, name, "grad_output");
  const TensorImpl& impl = implOf(output, name, "output");
  SHUNT_CHECK(grad_impl.sizes() == impl.sizes(), name, "(): grad_output and output must have the same shape, got ",
              grad_impl.sizes(), " and ", impl.sizes());
  SHUNT_CHECK(grad_impl.dtype() == impl.dtype() && (isFloatingType(impl.dtype()) || impl.numel() == 0), name,
              "(): expected grad_output and output to have the same floating-point dtype, got ", grad_impl.dtype(),
              " and ", impl.dtype());
  SHUNT_CHECK(input_dtype == impl.dtype(), name, "(): expected input_dtype to be ", impl.dtype(),
              ", the dtype of output, got ", input_dtype);
  maybe_wrap_dim(dim, impl.dim());
  return ResultMeta(impl, impl.sizes(), impl.dtype());
}

}  // namespace
}  // namespace shunt::native

namespace shunt::nn {
namespace {

/// Nothing where every call of the thunk would miss.
template <class Entry, class Miss>
SHUNT_COLD void record(const char* family, Entry* entry, Entry* expecting, Miss* miss, rows::LoopFn loop, bool log,
                       const native::Geometry& g, ScalarType dtype, std::initializer_list<const TensorImpl*> inputs) {
  const uint64_t id = idOf(log, g.inner != 1);
  if (!fits(g, id, dtype)) return;
  const auto address = [](auto* f) { return reinterpret_cast<const void*>(f); };
  rows::record({family, address(entry), address(expecting), address(miss), loop, id, dtype}, inputs);
}

#define SHUNT_CALLS(isa) &isa::kSoftmaxCalls
constexpr const SoftmaxCalls* kCalls[kNumIsas] = SHUNT_PER_ISA(SHUNT_CALLS);
#undef SHUNT_CALLS
const SoftmaxCalls& calls() { return *kCalls[static_cast<int>(::shunt::detail::activeIsa())]; }

/// One loop for the whole call, if it is small; whether it was.
bool runWithoutPlan(rows::LoopFn loop, std::initializer_list<const Tensor*> inputs, const Tensor& out,
                    const native::Geometry& g, bool log) {
  const ScalarType dtype = out.scalar_type();
  if (!fits(g, idOf(log, g.inner != 1), dtype)) return false;
  rows::Call call;
  static_cast<rows::Shape&>(call) = g;
  call.dtype = call.result = dtype;
  call.out[0] = rows::dataOf(out.unsafeGetTensorImpl(), dtype);
  size_t i = 0;
  for (const Tensor* t : inputs) {
    const TensorImpl& input = *t->unsafeGetTensorImpl();
    if (!rows::isDenseCpu(input) || input.dtype() != dtype) return false;
    call.in[i++] = rows::dataOf(&input, dtype);
  }
  loop(call);
  return true;
}

}  // namespace

rows::LoopFn softmaxCall(ScalarType dtype, bool log) {
  return (dtype == kDouble ? calls().forward_double : calls().forward)[log ? 1 : 0];
}
rows::LoopFn softmaxBackwardCall(ScalarType dtype, bool log) {
  return (dtype == kDouble ? calls().backward_double : calls().backward)[log ? 1 : 0];
}

void softmax(const Tensor& self, int64_t dim, const Tensor& out, bool log) {
  ++rows::interpreted_calls;
  const ScalarType dtype = self.scalar_type();
  const native::Geometry g = native::geometryOf(*self.unsafeGetTensorImpl(), dim);
  if (rows::recording()) [[unlikely]]
    record("softmax", &softmax, &softmaxExpected, &softmaxMissed, softmaxCall(dtype, log), log, g, dtype,
           {self.unsafeGetTensorImpl()});
  if (g.empty() || runWithoutPlan(softmaxCall(dtype, log), {&self}, out, g, log)) return;
  if (dtype == kDouble)
    native::forward<double>(dense(self), out, g, log);
  else
    native::forward<float>(dense(self), out, g, log);
}

void softmaxBackward(const Tensor& grad, const Tensor& output, int64_t dim, const Tensor& out, bool log) {
  ++rows::interpreted_calls;
  const ScalarType dtype = output.scalar_type();
  const native::Geometry g = native::geometryOf(*output.unsafeGetTensorImpl(), dim);
  if (rows::recording()) [[unlikely]]
    record("softmax backward", &softmaxBackward, &softmaxBackwardExpected, &softmaxBackwardMissed,
           softmaxBackwardCall(dtype, log), log, g, dtype, {grad.unsafeGetTensorImpl(), output.unsafeGetTensorImpl()});
  if (g.empty() || runWithoutPlan(softmaxBackwardCall(dtype, log), {&grad, &output}, out, g, log)) return;
  if (dtype == kDouble)
    native::backward<double>(dense(grad), dense(output), out, g, log);
  else
    native::backward<float>(dense(grad), dense(output), out, g, log);
}

void softmaxMissed(const Tensor& self, int64_t dim, const Tensor& out, bool log, jit::MissCount* misses) {
  ::shunt::detail::runMissed(misses, &softmax, self, dim, out, log);
}

void softmaxBackwardMissed(const Tensor& grad, const Tensor& output, int64_t dim, const Tensor& out, bool log,
                           jit::MissCount* misses) {
  ::shunt::detail::runMissed(misses, &softmaxBackward, grad, output, dim, out, log);
}

}  // namespace shunt::nn

namespace shunt::native {

ResultMeta _softmax_meta(const Tensor& self, int64_t dim, bool half_to_float) {
  return forwardMeta("_softmax", self, dim, half_to_float, false);
}
void _softmax_impl(const Tensor& self, int64_t dim, bool, const Tensor& result) {
  nn::softmax(self, dim, result, false);
}

ResultMeta _log_softmax_meta(const Tensor& self, int64_t dim, bool half_to_float) {
  return forwardMeta("_log_softmax", self, dim, half_to_float, true);
}
void _log_softmax_impl(const Tensor& self, int64_t dim, bool, const Tensor& result) {
  nn::softmax(self, dim, result, true);
}

ResultMeta _softmax_backward_data_meta(const Tensor& grad_output, const Tensor& output, int64_t dim,
                                       ScalarType input_dtype) {
  return backwardMeta("_softmax_backward_data", grad_output, output, dim, input_dtype);
}
void _softmax_backward_data_impl(const Tensor& grad_output, const Tensor& output, int64_t dim, ScalarType,
                                 const Tensor& result) {
  nn::softmaxBackward(grad_output, output, dim, result, false);
}

ResultMeta _log_softmax_backward_data_meta(const Tensor& grad_output, const Tensor& output, int64_t dim,
                                           ScalarType input_dtype) {
  return backwardMeta("_log_softmax_backward_data", grad_output, output, dim, input_dtype);
}
void _log_softmax_backward_data_impl(const Tensor& grad_output, const Tensor& output, int64_t dim, ScalarType,
                                     const Tensor& result) {
  nn::softmaxBackward(grad_output, output, dim, result, true);
}

}  // namespace shunt::native
