#include "kernels/rows/reduce.h"

#include "kernels/common/result.h"
#include "kernels/rows/cascade.h"
#include "kernels/rows/reduce_expected.h"

#include <shunt/core/parallel.h>

#include <memory>

namespace shunt::reduce {

template <class A>
A reduceContiguous(ReduceOp op, const A* x, int64_t n) {
  const auto block = blockLoops<A>().block[static_cast<int>(op)];
  if (n <= kBlock) return block(x, n);
  Cascade<A> chunks(op);
  for (int64_t c = 0; c < n; c += kChunk) {
    Cascade<A> blocks(op);
    for (int64_t b = c; b < n && b < c + kChunk; b += kBlock) blocks.push(block(x + b, std::min(kBlock, n - b)));
    chunks.push(blocks.result());
  }
  return chunks.result();
}
template float reduceContiguous<float>(ReduceOp, const float*, int64_t);
template double reduceContiguous<double>(ReduceOp, const double*, int64_t);

namespace {

/// One reduction with accumulator type A.
template <class A>
class Reducer {
 public:
  Reducer(const Tensor& self, const Tensor& out, const Plan& plan, const Reduction& reduction)
      : plan_(plan),
        op_(reduction.op),
        in_(self.unsafeGetTensorImpl()->data()),
        out_(out.unsafeGetTensorImpl()->data()),
        itemsize_(self.itemsize()),
        out_itemsize_(out.itemsize()),
        // A bool's bytes may be other than 0 and 1, so they are never used in place.
        direct_(self.dtype() == scalar_type_of<A> && !std::is_same_v<A, uint8_t>),
        mean_(reduction.mean),
        block_(blockLoops<A>().block[static_cast<int>(op_)]),
        rows8_(blockLoops<A>().rows8[static_cast<int>(op_)]),
        row1_(blockLoops<A>().row1[static_cast<int>(op_)]),
        load_(convertLoops<A>().load[static_cast<int>(self.dtype())]),
        store_(convertLoops<A>().store[static_cast<int>(out.dtype())]) {
    SHUNT_INTERNAL_ASSERT(block_ != nullptr && load_ != nullptr && store_ != nullptr, "reduction of ", self.dtype(),
                          " to ", out.dtype());
  }

  void run() const {
    if (plan_.kept.numel == 0) return;
    const bool across = !plan_.kept.empty() && (plan_.kept.inner().stride == 1 || plan_.reduced.empty());
    if (plan_.reduced.numel == 0)
      fill();
    else if (across)
      reduceAcross();
    else
      reduceAlong();
  }

 private:
  static constexpr int64_t kStackChunks = 64;

  void fill() const {
    A value = identityOf<A>(op_);
    for (int64_t i = 0; i < plan_.kept.numel; ++i) put(&value, i, 1, 1);
  }

  void put(A* values, int64_t out_offset, int64_t out_stride, int64_t n) const {
    if constexpr (std::is_floating_point_v<A>) {
      if (mean_) {
        const A count = static_cast<A>(plan_.reduced.numel);
        for (int64_t i = 0; i < n; ++i) values[i] = values[i] / count;
      }
    }
    store_(out_ + out_offset * out_itemsize_, values, out_stride, n);
  }

  // ---- one output at a time ---------------------------------------------------------------------------------------

  /// Elements [begin, begin + n) of the reduced axes, n <= kChunk.
  A chunk(const std::byte* base, int64_t begin, int64_t n) const {
    const Axes& axes = plan_.reduced;
    if (direct_ && (axes.empty() || (axes.count == 1 && axes.inner().stride == 1))) {
      const A* x = reinterpret_cast<const A*>(base) + begin;
      return n <= kBlock ? block_(x, n) : reduceContiguous<A>(op_, x, n);
    }
    A buffer[kBlock];
    Cascade<A> blocks(op_);
    Cursor cursor(axes.axis, axes.count, begin);
    const int64_t stride = axes.empty() ? 1 : axes.inner().stride;
    for (int64_t done = 0; done < n;) {
      const int64_t block = std::min(kBlock, n - done);
      for (int64_t filled = 0; filled < block;) {
        const int64_t run = std::min(cursor.left(), block - filled);
        load_(buffer + filled, base + cursor.offset() * itemsize_, stride, run);
        cursor.advance(run);
        filled += run;
      }
      blocks.push(block_(buffer, block));
      done += block;
    }
    return blocks.result();
  }

  A chunked(const std::byte* base, int64_t n) const {
    const int64_t chunks = (n + kChunk - 1) / kChunk;
    A on_stack[kStackChunks];
    std::unique_ptr<A[]> on_heap;
    A* partial = on_stack;
    if (chunks > kStackChunks) {
      on_heap = std::make_unique_for_overwrite<A[]>(static_cast<size_t>(chunks));
      partial = on_heap.get();
    }
    parallelFor(0, chunks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) partial[c] = chunk(base, c * kChunk, std::min(kChunk, n - c * kChunk));
    });
    Cascade<A> cascade(op_);
    for (int64_t c = 0; c < chunks; ++c) cascade.push(partial[c]);
    return cascade.result();
  }

  void reduceAlong() const {
    const int64_t n = plan_.reduced.numel;
    const int64_t outputs = plan_.kept.numel;
    const auto outputsFrom = [&](int64_t begin, int64_t end) {
      Cursor cursor(plan_.kept.axis, plan_.kept.count, begin);
      for (int64_t i = begin; i < end; ++i) {
        const std::byte* base = in_ + cursor.offset() * itemsize_;
        A value = n <= kChunk ? chunk(base, 0, n) : chunked(base, n);
        put(&value, cursor.outOffset(), 1, 1);
        cursor.advance(1);
      }
    };
    if (outputs == 1 || n * outputs <= kDefaultGrain)
      outputsFrom(0, outputs);
    else
      parallelFor(0, outputs, std::max<int64_t>(1, kDefaultGrain / n), outputsFrom);
  }

  // ---- many neighbouring outputs at once ----------------------------------------------------------------------------

  /// acc = the reduction of rows [begin, end) at `cols` columns from `base` on. Rows are positions of the reduced axes.
  void rows(A* acc, const std::byte* base, int64_t stride, int64_t begin, int64_t end, int64_t cols) const {
    std::fill_n(acc, cols, identityOf<A>(op_));
    A partial[kColumnTile];
    Cursor cursor(plan_.reduced.axis, plan_.reduced.count, begin);
    for (int64_t r = begin; r < end; r += kRowBlock) {
      const int64_t block_end = std::min(end, r + kRowBlock);
      if (r == begin) {
        rowBlock(acc, cursor, base, stride, block_end - r, cols);
      } else {
        std::fill_n(partial, cols, identityOf<A>(op_));
        rowBlock(partial, cursor, base, stride, block_end - r, cols);
        row1_(acc, partial, cols);
      }
    }
  }

  void rowBlock(A* acc, Cursor& cursor, const std::byte* base, int64_t stride, int64_t count, int64_t cols) const {
    const A* row[8];
    if (direct_ && stride == 1) {
      for (; count >= 8; count -= 8) {
        for (const A*& p : row) p = nextRow(cursor, base);
        rows8_(acc, row, cols);
      }
      for (; count > 0; --count) row1_(acc, nextRow(cursor, base), cols);
      return;
    }
    A buffer[8 * kColumnTile];
    const auto loadRow = [&](A* to) {
      load_(to, reinterpret_cast<const std::byte*>(nextRow(cursor, base)), stride, cols);
    };
    for (; count >= 8; count -= 8) {
      for (int k = 0; k < 8; ++k) {
        loadRow(buffer + k * cols);
        row[k] = buffer + k * cols;
      }
      rows8_(acc, row, cols);
    }
    for (; count > 0; --count) {
      loadRow(buffer);
      row1_(acc, buffer, cols);
    }
  }

  const A* nextRow(Cursor& cursor, const std::byte* base) const {
    const std::byte* p = base + cursor.offset() * itemsize_;
    cursor.advance(1);
    return reinterpret_cast<const A*>(p);
  }

  void reduceAcross() const {
    const Axis inner = plan_.kept.inner();
    const int64_t width = std::min(inner.size, kColumnTile);
    const int64_t tiles = (inner.size + kColumnTile - 1) / kColumnTile;
    const int64_t batches = plan_.kept.numel / inner.size;
    const int64_t total_rows = plan_.reduced.numel;
    const int64_t chunk_rows = width >= 128 ? 2 * kRowBlock : 16 * kRowBlock;
    const int64_t chunks = (total_rows + chunk_rows - 1) / chunk_rows;
    std::unique_ptr<A[]> partial;
    if (chunks > 1)
      partial = std::make_unique_for_overwrite<A[]>(static_cast<size_t>(batches * tiles * chunks * width));

    const auto columnsOf = [&](int64_t tile) { return std::min(kColumnTile, inner.size - tile * kColumnTile); };
    const auto outputOf = [&](int64_t batch, int64_t tile, A* values) {
      const Cursor cursor(plan_.kept.axis, plan_.kept.count - 1, batch);
      put(values, cursor.outOffset() + tile * kColumnTile * inner.out_stride, inner.out_stride, columnsOf(tile));
    };
    const auto tasks = [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task) {
        const int64_t c = task % chunks, tile = task / chunks % tiles, batch = task / chunks / tiles;
        const Cursor cursor(plan_.kept.axis, plan_.kept.count - 1, batch);
        const std::byte* base = in_ + (cursor.offset() + tile * kColumnTile * inner.stride) * itemsize_;
        A values[kColumnTile];
        A* acc = chunks == 1 ? values : partial.get() + task * width;
        rows(acc, base, inner.stride, c * chunk_rows, std::min(total_rows, (c + 1) * chunk_rows), columnsOf(tile));
        if (chunks == 1) outputOf(batch, tile, values);
      }
    };
    const int64_t count = batches * tiles * chunks;
    const int64_t work = std::min(chunk_rows, total_rows) * width;
    if (count == 1 || count * work <= kDefaultGrain)
      tasks(0, count);
    else
      parallelFor(0, count, std::max<int64_t>(1, kDefaultGrain / work), tasks);
    if (chunks == 1) return;
    for (int64_t i = 0; i < batches * tiles; ++i) {
      A* first = partial.get() + i * chunks * width;
      for (int64_t c = 1; c < chunks; ++c) row1_(first, first + c * width, columnsOf(i % tiles));
      outputOf(i / tiles, i % tiles, first);
    }
  }

  const Plan& plan_;
  ReduceOp op_;
  const std::byte* in_;
  std::byte* out_;
  int64_t itemsize_;
  int64_t out_itemsize_;
  bool direct_;
  bool mean_;
  A (*block_)(const A*, int64_t);
  void (*rows8_)(A*, const A* const*, int64_t);
  void (*row1_)(A*, const A*, int64_t);
  void (*load_)(A*, const std::byte*, int64_t, int64_t);
  void (*store_)(std::byte*, const A*, int64_t, int64_t);
};

/// One block of consecutive elements to one value, without a plan. False where that is not what is wanted.
template <class A>
bool runOneBlock(const TensorImpl& in, const TensorImpl& out, const DimSet& dims, const Reduction& reduction) {
  const int64_t n = in.numel();
  const bool fits = dims.all() && in.is_contiguous() && n > 0 && n <= kBlock;
  if (!fits || in.dtype() != scalar_type_of<A> || out.dtype() != in.dtype()) return false;
  const A value = blockLoops<A>().block[static_cast<int>(reduction.op)](reinterpret_cast<const A*>(in.data()), n);
  *reinterpret_cast<A*>(out.data()) = reduction.mean ? value / static_cast<A>(n) : value;
  return true;
}

template <class A>
void run(const Tensor& self, const Tensor& out, const DimSet& dims, const Reduction& reduction) {
  if constexpr (std::is_floating_point_v<A>) {
    if (runOneBlock<A>(*self.unsafeGetTensorImpl(), *out.unsafeGetTensorImpl(), dims, reduction)) return;
  }
  const Plan plan(*self.unsafeGetTensorImpl(), dims, false);
  Reducer<A>(self, out, plan, reduction).run();
}

/// Where the thunk has a loop for it: otherwise every call would miss.
SHUNT_COLD void record(const Tensor& self, const DimSet& dims, const Reduction& reduction) {
  const Span span = spanOf(*self.unsafeGetTensorImpl(), dims);
  if (span == Span::kNone) return;
  rows::record({"reduction", reinterpret_cast<const void*>(&reduce), reinterpret_cast<const void*>(&reduceExpected),
                reinterpret_cast<const void*>(&reduceMissed), genericRows(reduction, span), idOf(reduction, span),
                self.scalar_type()},
               {self.unsafeGetTensorImpl()});
}

}  // namespace

Tensor reduce(const Tensor& self, const DimSet& dims, bool keepdim, const Reduction& reduction) {
  ++rows::interpreted_calls;
  if (rows::recording()) [[unlikely]]
    record(self, dims, reduction);
  const OutputSizes sizes(self.sizes(), dims, keepdim);
  Tensor out = native::newResult(*self.unsafeGetTensorImpl(), sizes.ref(), reduction.out_dtype);
  if (!native::hasData(*self.unsafeGetTensorImpl())) return out;
  switch (reduction.accumulator) {
    case Accumulator::kFloat:
      run<float>(self, out, dims, reduction);
      break;
    case Accumulator::kDouble:
      run<double>(self, out, dims, reduction);
      break;
    case Accumulator::kLong:
      run<int64_t>(self, out, dims, reduction);
      break;
    case Accumulator::kBool:
      run<uint8_t>(self, out, dims, reduction);
      break;
  }
  return out;
}

Tensor reduceMissed(const Tensor& self, const DimSet& dims, bool keepdim, const Reduction& reduction,
                    jit::MissCount* misses) {
  return ::shunt::detail::runMissed(misses, &reduce, self, dims, keepdim, reduction);
}

}  // namespace shunt::reduce
