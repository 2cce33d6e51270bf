// The engine of reductions: one loop along each output's elements, or one down many neighbouring outputs' columns. See
// Note [Order of reductions] in loop_table.h. Any thread; large reductions share threads by parallelFor.
#include "kernels/rows/cascade.h"
#include "kernels/rows/descriptor.h"

#include <shunt/core/parallel.h>

#include <memory>

namespace shunt::reduce {

namespace {

/// What some elements came to.
template <class A>
struct Partial {
  A value, pivot;
  int64_t count;
};

/// Two of them, the first of which comes first in the order.
template <class A>
struct Joiner {
  const ReductionLoops<A>& loops;
  void operator()(Partial<A>& a, const Partial<A>& b) const {
    if (loops.merge == nullptr)
      loops.row1(&a.value, &b.value, 1);
    else
      loops.merge(&a.value, &a.pivot, static_cast<A>(a.count), &b.value, &b.pivot, static_cast<A>(b.count), 1);
    a.count += b.count;
  }
};

/// One reduction that is computed in A.
template <class A>
class Reducer {
 public:
  Reducer(const rows::Descriptor& op, double number, const Memory& memory, const Plan& plan)
      : plan_(plan),
        loops_(reductionLoops<A>(op.accumulator)),
        pivot_loops_(loops_.pivot >= 0 ? &reductionLoops<A>(loops_.pivot) : nullptr),
        number_(static_cast<A>(number)),
        in_(memory.in),
        out_(memory.out),
        pivots_out_(memory.pivots),
        itemsize_(elementSize(memory.dtype)),
        out_itemsize_(elementSize(memory.result)),
        // A bool's bytes may be other than 0 and 1, so they are never used in place.
        direct_(memory.dtype == scalar_type_of<A> && !std::is_same_v<A, uint8_t>),
        load_(convertLoops<A>().load[static_cast<int>(memory.dtype)]),
        store_(convertLoops<A>().store[static_cast<int>(memory.result)]) {
    SHUNT_INTERNAL_ASSERT(loops_.block != nullptr && load_ != nullptr && store_ != nullptr, "reduction of ",
                          memory.dtype, " to ", memory.result);
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
    A value = loops_.identity, pivot = 0;
    if (pivot_loops_ != nullptr) {
      pivot = pivot_loops_->identity;
      if (pivot_loops_->finish != nullptr) pivot_loops_->finish(&pivot, &pivot, A(0), A(0), 1);
    }
    for (int64_t i = 0; i < plan_.kept.numel; ++i) {
      A result = value;
      put(&result, &pivot, i, 1, 1);
    }
  }

  /// Makes results of n values.
  void put(A* values, const A* pivots, int64_t out_offset, int64_t out_stride, int64_t n) const {
    if (loops_.finish != nullptr) loops_.finish(values, pivots, static_cast<A>(plan_.reduced.numel), number_, n);
    store_(out_ + out_offset * out_itemsize_, values, out_stride, n);
    if (pivots_out_ != nullptr) store_(pivots_out_ + out_offset * out_itemsize_, pivots, out_stride, n);
  }

  // ---- one output at a time ---------------------------------------------------------------------------------------

  /// n <= kBlock consecutive elements, one at least.
  Partial<A> block(const A* x, int64_t n) const {
    A pivot = 0;
    if (pivot_loops_ != nullptr) {
      const A first = x[0];
      pivot = pivot_loops_->block(x, n, first, A(0));
      if (pivot_loops_->finish != nullptr) pivot_loops_->finish(&pivot, &first, static_cast<A>(n), A(0), 1);
    }
    return {loops_.block(x, n, pivot, number_), pivot, n};
  }

  /// Elements [begin, begin + n) of the reduced axes, n <= kChunk.
  Partial<A> chunk(const std::byte* base, int64_t begin, int64_t n) const {
    const Axes& axes = plan_.reduced;
    Cascade<Partial<A>, Joiner<A>> blocks(Joiner<A>{loops_});
    if (inPlace()) {
      const A* x = reinterpret_cast<const A*>(base) + begin;
      if (n <= kBlock) return block(x, n);
      for (int64_t b = 0; b < n; b += kBlock) blocks.push(block(x + b, std::min(kBlock, n - b)));
      return blocks.result();
    }
    A buffer[kBlock];
    Cursor cursor(axes.axis, axes.count, begin);
    const int64_t stride = axes.empty() ? 1 : axes.inner().stride;
    for (int64_t done = 0; done < n;) {
      const int64_t size = std::min(kBlock, n - done);
      for (int64_t filled = 0; filled < size;) {
        const int64_t run = std::min(cursor.left(), size - filled);
        load_(buffer + filled, base + cursor.offset() * itemsize_, stride, run);
        cursor.advance(run);
        filled += run;
      }
      blocks.push(block(buffer, size));
      done += size;
    }
    return blocks.result();
  }

  Partial<A> chunked(const std::byte* base, int64_t n) const {
    const int64_t chunks = (n + kChunk - 1) / kChunk;
    Partial<A> on_stack[kStackChunks];
    std::unique_ptr<Partial<A>[]> on_heap;
    Partial<A>* partial = on_stack;
    if (chunks > kStackChunks) {
      on_heap = std::make_unique_for_overwrite<Partial<A>[]>(static_cast<size_t>(chunks));
      partial = on_heap.get();
    }
    parallelFor(0, chunks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) partial[c] = chunk(base, c * kChunk, std::min(kChunk, n - c * kChunk));
    });
    Cascade<Partial<A>, Joiner<A>> cascade(Joiner<A>{loops_});
    for (int64_t c = 0; c < chunks; ++c) cascade.push(partial[c]);
    return cascade.result();
  }

  void reduceAlong() const {
    const int64_t n = plan_.reduced.numel;
    const int64_t outputs = plan_.kept.numel;
    // Short rows, of which there may be many.
    const bool one_block = !pivoted() && n <= kBlock && inPlace();
    const auto outputsFrom = [&](int64_t begin, int64_t end) {
      Cursor cursor(plan_.kept.axis, plan_.kept.count, begin);
      for (int64_t i = begin; i < end; ++i) {
        const std::byte* base = in_ + cursor.offset() * itemsize_;
        if (one_block) {
          A value = loops_.block(reinterpret_cast<const A*>(base), n, A(0), number_);
          put(&value, nullptr, cursor.outOffset(), 1, 1);
          cursor.advance(1);
          continue;
        }
        Partial<A> all = n <= kChunk ? chunk(base, 0, n) : chunked(base, n);
        put(&all.value, &all.pivot, cursor.outOffset(), 1, 1);
        cursor.advance(1);
      }
    };
    if (outputs == 1 || n * outputs <= kDefaultGrain)
      outputsFrom(0, outputs);
    else
      parallelFor(0, outputs, std::max<int64_t>(1, kDefaultGrain / n), outputsFrom);
  }

  // ---- many neighbouring outputs at once ----------------------------------------------------------------------------

  /// What rows come to, one value and pivot for each column; pivots are null where there are none.
  struct Columns {
    A* values;
    A* pivots;
    int64_t count = 0;  // of rows
  };

  /// The reduction of rows [begin, end) at `cols` columns from `base` on. Rows are positions of the reduced axes.
  void rows(Columns& acc, const std::byte* base, int64_t stride, int64_t begin, int64_t end, int64_t cols) const {
    A values[kColumnTile], pivots[kColumnTile];
    Cursor cursor(plan_.reduced.axis, plan_.reduced.count, begin);
    for (int64_t r = begin; r < end; r += kRowBlock) {
      const int64_t count = std::min(end, r + kRowBlock) - r;
      Columns next{values, acc.pivots != nullptr ? pivots : nullptr};
      rowBlock(r == begin ? acc : next, cursor, base, stride, count, cols);
      if (r != begin) join(acc, next, cols);
    }
  }

  void join(Columns& acc, const Columns& next, int64_t cols) const {
    if (loops_.merge == nullptr)
      loops_.row1(acc.values, next.values, cols);
    else
      loops_.merge(acc.values, acc.pivots, static_cast<A>(acc.count), next.values, next.pivots,
                   static_cast<A>(next.count), cols);
    acc.count += next.count;
  }

  /// `count` rows from the cursor on, which it moves behind them.
  void rowBlock(Columns& acc, Cursor& cursor, const std::byte* base, int64_t stride, int64_t count,
                int64_t cols) const {
    acc.count = count;
    if (pivot_loops_ != nullptr) {
      A firsts[kColumnTile];
      load_(firsts, base + cursor.offset() * itemsize_, stride, cols);
      Cursor again = cursor;
      addRows(*pivot_loops_, acc.pivots, firsts, again, base, stride, count, cols);
      if (pivot_loops_->finish != nullptr) pivot_loops_->finish(acc.pivots, firsts, static_cast<A>(count), A(0), cols);
    }
    addRows(loops_, acc.values, acc.pivots, cursor, base, stride, count, cols);
  }

  void addRows(const ReductionLoops<A>& loops, A* acc, const A* pivots, Cursor& cursor, const std::byte* base,
               int64_t stride, int64_t count, int64_t cols) const {
    std::fill_n(acc, cols, loops.identity);
    const A* row[8];
    const bool in_place = direct_ && stride == 1;
    if (in_place && loops.terms == nullptr) {
      for (; count >= 8; count -= 8) {
        for (const A*& p : row) p = nextRow(cursor, base);
        loops.rows8(acc, row, cols);
      }
      for (; count > 0; --count) loops.row1(acc, nextRow(cursor, base), cols);
      return;
    }
    A buffer[8 * kColumnTile];
    const auto loadRow = [&](A* to) {
      const A* from = nextRow(cursor, base);
      if (!in_place) load_(to, reinterpret_cast<const std::byte*>(from), stride, cols);
      if (loops.terms != nullptr) loops.terms(to, in_place ? from : to, pivots, cols, number_);
    };
    for (; count >= 8; count -= 8) {
      for (int k = 0; k < 8; ++k) {
        loadRow(buffer + k * cols);
        row[k] = buffer + k * cols;
      }
      loops.rows8(acc, row, cols);
    }
    for (; count > 0; --count) {
      loadRow(buffer);
      loops.row1(acc, buffer, cols);
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
    const int64_t parts = batches * tiles * chunks;
    std::unique_ptr<A[]> partial;  // values, then pivots
    if (chunks > 1)
      partial = std::make_unique_for_overwrite<A[]>(static_cast<size_t>((pivoted() ? 2 : 1) * parts * width));
    const auto partOf = [&](int64_t i) {
      return Columns{partial.get() + i * width, pivoted() ? partial.get() + (parts + i) * width : nullptr};
    };
    const auto rowsOf = [&](int64_t c) { return std::min(total_rows, (c + 1) * chunk_rows) - c * chunk_rows; };

    const auto columnsOf = [&](int64_t tile) { return std::min(kColumnTile, inner.size - tile * kColumnTile); };
    const auto outputOf = [&](int64_t batch, int64_t tile, const Columns& all) {
      const Cursor cursor(plan_.kept.axis, plan_.kept.count - 1, batch);
      put(all.values, all.pivots, cursor.outOffset() + tile * kColumnTile * inner.out_stride, inner.out_stride,
          columnsOf(tile));
    };
    const auto tasks = [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task) {
        const int64_t c = task % chunks, tile = task / chunks % tiles, batch = task / chunks / tiles;
        const Cursor cursor(plan_.kept.axis, plan_.kept.count - 1, batch);
        const std::byte* base = in_ + (cursor.offset() + tile * kColumnTile * inner.stride) * itemsize_;
        A values[kColumnTile], pivots[kColumnTile];
        Columns acc = chunks == 1 ? Columns{values, pivoted() ? pivots : nullptr} : partOf(task);
        rows(acc, base, inner.stride, c * chunk_rows, c * chunk_rows + rowsOf(c), columnsOf(tile));
        if (chunks == 1) outputOf(batch, tile, acc);
      }
    };
    const int64_t work = std::min(chunk_rows, total_rows) * width;
    if (parts == 1 || parts * work <= kDefaultGrain)
      tasks(0, parts);
    else
      parallelFor(0, parts, std::max<int64_t>(1, kDefaultGrain / work), tasks);
    if (chunks == 1) return;
    for (int64_t i = 0; i < batches * tiles; ++i) {
      Columns all = partOf(i * chunks);
      all.count = rowsOf(0);
      for (int64_t c = 1; c < chunks; ++c) {
        Columns next = partOf(i * chunks + c);
        next.count = rowsOf(c);
        join(all, next, columnsOf(i % tiles));
      }
      outputOf(i / tiles, i % tiles, all);
    }
  }

  bool pivoted() const { return pivot_loops_ != nullptr; }
  /// Whether an output's elements lie one after the other, as they are computed.
  bool inPlace() const {
    const Axes& axes = plan_.reduced;
    return direct_ && (axes.empty() || (axes.count == 1 && axes.inner().stride == 1));
  }

  const Plan& plan_;
  const ReductionLoops<A>& loops_;
  const ReductionLoops<A>* pivot_loops_;
  A number_;
  const std::byte* in_;
  std::byte* out_;
  std::byte* pivots_out_;
  int64_t itemsize_;
  int64_t out_itemsize_;
  bool direct_;
  void (*load_)(A*, const std::byte*, int64_t, int64_t);
  void (*store_)(std::byte*, const A*, int64_t, int64_t);
};

/// One block of consecutive elements to one value, without a plan. False where that is not what is wanted.
template <class A>
bool runOneBlock(const rows::Request& request, const rows::Results& results) {
  const TensorImpl& in = *request.self.unsafeGetTensorImpl();
  const TensorImpl& out = *results.first.unsafeGetTensorImpl();
  const int64_t n = in.numel();
  const bool fits = request.dims.all() && in.is_contiguous() && n > 0 && n <= kBlock;
  if (!fits || in.dtype() != scalar_type_of<A> || out.dtype() != in.dtype()) return false;
  const ReductionLoops<A>& loops = reductionLoops<A>(request.op.accumulator);
  if (loops.pivot >= 0) return false;
  const auto number = static_cast<A>(request.number);
  A value = loops.block(reinterpret_cast<const A*>(in.data()), n, A(0), number);
  if (loops.finish != nullptr) loops.finish(&value, &value, static_cast<A>(n), number, 1);
  *reinterpret_cast<A*>(out.data()) = value;
  return true;
}

}  // namespace

void reduceEngine(const rows::Request& request, const rows::Results& results) {
  rows::withComputeType(request.computeType(), [&]<class A>(A) {
    if constexpr (std::is_floating_point_v<A>) {
      if (runOneBlock<A>(request, results)) return;
    }
    const TensorImpl &in = *request.self.unsafeGetTensorImpl(), &out = *results.first.unsafeGetTensorImpl();
    std::byte* const pivots = results.second.defined() ? results.second.unsafeGetTensorImpl()->data() : nullptr;
    const Plan plan(in, request.dims, false);
    Reducer<A>(request.op, request.number, {in.dtype(), out.dtype(), in.data(), out.data(), pivots}, plan).run();
  });
}

void reduceAsPlanned(const rows::Descriptor& op, rows::ComputeType type, const Memory& memory, const Plan& plan) {
  rows::withComputeType(type, [&]<class A>(A) { Reducer<A>(op, 0, memory, plan).run(); });
}

}  // namespace shunt::reduce
