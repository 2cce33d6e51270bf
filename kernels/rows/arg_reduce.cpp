#include "kernels/rows/arg_reduce.h"

#include <shunt/core/parallel.h>

#include <vector>

namespace shunt::reduce {

namespace {

template <class A>
class ArgReducer {
 public:
  ArgReducer(const rows::Request& request, const rows::Results& results, const Plan& plan)
      : plan_(plan),
        in_(request.self.unsafeGetTensorImpl()->data()),
        itemsize_(request.self.itemsize()),
        direct_(request.self.dtype() == scalar_type_of<A> && !std::is_same_v<A, uint8_t>),
        maximum_(isMaximum(request.op)),
        block_(reductionLoops<A>(request.op.accumulator).block),
        find_(argLoops<A>().find),
        row_(argLoops<A>().row[maximum_ ? 0 : 1]),
        load_(convertLoops<A>().load[static_cast<int>(request.self.dtype())]),
        store_(convertLoops<A>().store[static_cast<int>(request.self.dtype())]) {
    const bool values = request.op.second == rows::Second::kIndices;
    const Tensor& indices = values ? results.second : results.first;
    indices_ = reinterpret_cast<int64_t*>(indices.unsafeGetTensorImpl()->data());
    values_ = values ? results.first.unsafeGetTensorImpl()->data() : nullptr;
  }

  void run() const {
    if (plan_.kept.numel == 0) return;
    const bool across = !plan_.kept.empty() && plan_.kept.inner().stride == 1 && !plan_.reduced.empty();
    if (across)
      reduceAcross();
    else
      reduceAlong();
  }

 private:
  struct Best {
    A value;
    int64_t index;
  };

  bool beats(A x, A best) const { return (maximum_ ? x > best : x < best) || (x != x && best == best); }

  void put(int64_t at, int64_t stride, const A* values, const int64_t* indices, int64_t n) const {
    for (int64_t i = 0; i < n; ++i) indices_[at + i * stride] = indices[i];
    if (values_ != nullptr) store_(values_ + at * itemsize_, values, stride, n);
  }

  Best bestOfBlock(const A* x, int64_t n) const {
    const int64_t i = find_(x, n, block_(x, n, A(0), A(0)));
    return {x[i], i};
  }

  /// Of elements [begin, end) of the reduced axes, end > begin.
  Best range(const std::byte* base, int64_t begin, int64_t end) const {
    const Axes& axes = plan_.reduced;
    const int64_t stride = axes.empty() ? 1 : axes.inner().stride;
    const bool in_place = direct_ && axes.count <= 1 && stride == 1;
    Cursor cursor(axes.axis, axes.count, begin);
    A buffer[kBlock];
    Best best{};
    for (int64_t b = begin; b < end; b += kBlock) {
      const int64_t n = std::min(kBlock, end - b);
      const A* x = in_place ? reinterpret_cast<const A*>(base) + b : buffer;
      for (int64_t filled = 0; !in_place && filled < n;) {
        const int64_t run = std::min(cursor.left(), n - filled);
        load_(buffer + filled, base + cursor.offset() * itemsize_, stride, run);
        cursor.advance(run);
        filled += run;
      }
      const Best found = bestOfBlock(x, n);
      if (b == begin || beats(found.value, best.value)) best = {found.value, b + found.index};
    }
    return best;
  }

  void reduceAlong() const {
    const int64_t n = plan_.reduced.numel, outputs = plan_.kept.numel;
    if (outputs == 1 && n > kChunk) return reduceOne();
    const auto outputsFrom = [&](int64_t begin, int64_t end) {
      Cursor cursor(plan_.kept.axis, plan_.kept.count, begin);
      for (int64_t i = begin; i < end; ++i) {
        const Best best = range(in_ + cursor.offset() * itemsize_, 0, n);
        put(cursor.outOffset(), 1, &best.value, &best.index, 1);
        cursor.advance(1);
      }
    };
    if (n * outputs <= kDefaultGrain)
      outputsFrom(0, outputs);
    else
      parallelFor(0, outputs, std::max<int64_t>(1, kDefaultGrain / n), outputsFrom);
  }

  void reduceOne() const {
    const int64_t n = plan_.reduced.numel;
    const int64_t chunks = (n + kChunk - 1) / kChunk;
    std::vector<Best> found(static_cast<size_t>(chunks));
    parallelFor(0, chunks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c)
        found[static_cast<size_t>(c)] = range(in_, c * kChunk, std::min(n, (c + 1) * kChunk));
    });
    Best best = found[0];
    for (const Best& b : found)
      if (beats(b.value, best.value)) best = b;
    put(0, 1, &best.value, &best.index, 1);
  }

  /// Columns [0, cols) from `base` on.
  void tile(const std::byte* base, int64_t out_offset, int64_t cols) const {
    A best[kColumnTile], buffer[kColumnTile];
    int64_t index[kColumnTile];
    Cursor cursor(plan_.reduced.axis, plan_.reduced.count, 0);
    load_(best, base, 1, cols);
    std::fill_n(index, cols, 0);
    for (int64_t r = 1; r < plan_.reduced.numel; ++r) {
      cursor.advance(1);
      const std::byte* row = base + cursor.offset() * itemsize_;
      if (!direct_) load_(buffer, row, 1, cols);
      row_(best, index, direct_ ? reinterpret_cast<const A*>(row) : buffer, r, cols);
    }
    put(out_offset, plan_.kept.inner().out_stride, best, index, cols);
  }

  void reduceAcross() const {
    const Axis inner = plan_.kept.inner();
    const int64_t tiles = (inner.size + kColumnTile - 1) / kColumnTile;
    const int64_t count = plan_.kept.numel / inner.size * tiles;
    const auto tasks = [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task) {
        const Cursor cursor(plan_.kept.axis, plan_.kept.count - 1, task / tiles);
        const int64_t first = task % tiles * kColumnTile;
        tile(in_ + (cursor.offset() + first) * itemsize_, cursor.outOffset() + first * inner.out_stride,
             std::min(kColumnTile, inner.size - first));
      }
    };
    const int64_t work = plan_.reduced.numel * std::min(inner.size, kColumnTile);
    if (count == 1 || count * work <= kDefaultGrain)
      tasks(0, count);
    else
      parallelFor(0, count, std::max<int64_t>(1, kDefaultGrain / work), tasks);
  }

  const Plan& plan_;
  const std::byte* in_;
  int64_t itemsize_;
  bool direct_;
  bool maximum_;
  int64_t* indices_;
  std::byte* values_;
  A (*block_)(const A*, int64_t, A, A);
  int64_t (*find_)(const A*, int64_t, A);
  void (*row_)(A*, int64_t*, const A*, int64_t, int64_t);
  void (*load_)(A*, const std::byte*, int64_t, int64_t);
  void (*store_)(std::byte*, const A*, int64_t, int64_t);
};

}  // namespace

void argReduceEngine(const rows::Request& request, const rows::Results& results) {
  const Plan plan(*request.self.unsafeGetTensorImpl(), request.dims, true);
  rows::withComputeType(request.computeType(), [&]<class A>(A) { ArgReducer<A>(request, results, plan).run(); });
}

}  // namespace shunt::reduce
