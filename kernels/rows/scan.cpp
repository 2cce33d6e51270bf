// The engine of scans: a running value along each row, or down groups of columns, one after the other. Any thread;
// large scans share threads by parallelFor, each with rows or columns of its own.
#include "kernels/rows/scan.h"

#include "kernels/rows/descriptor.h"

#include <shunt/core/parallel.h>
#include <shunt/ops.h>

namespace shunt::reduce {
namespace {

template <class Acc, class A>
class Scanner {
 public:
  Scanner(const TensorImpl& in, const TensorImpl& out, const rows::Shape& shape)
      : shape_(shape),
        in_(in.data()),
        out_(out.data()),
        itemsize_(elementSize(in.dtype())),
        out_itemsize_(elementSize(out.dtype())),
        load_(convertLoops<A>().load[static_cast<int>(in.dtype())]),
        store_(convertLoops<A>().store[static_cast<int>(out.dtype())]) {}

  void copy() const {
    A value;
    load_(&value, in_, 1, 1);
    store_(out_, &value, 1, 1);
  }

  void run() const {
    const int64_t groups = (shape_.inner + kScanBlock - 1) / kScanBlock;
    const auto tasks = [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if (shape_.inner == 1)
          row(i * shape_.n);
        else
          columns(i / groups * shape_.n * shape_.inner + i % groups * kScanBlock,
                  std::min(kScanBlock, shape_.inner - i % groups * kScanBlock));
      }
    };
    const int64_t count = shape_.outer * groups;
    const int64_t work = std::max<int64_t>(1, shape_.n * std::min(shape_.inner, kScanBlock));
    if (count * work <= kDefaultGrain)
      tasks(0, count);
    else
      parallelFor(0, count, std::max<int64_t>(1, kDefaultGrain / work), tasks);
  }

 private:
  void row(int64_t first) const {
    A buffer[kScanBlock];
    A running = identityOf<A>(Acc::kJoin);
    for (int64_t i = 0; i < shape_.n; i += kScanBlock) {
      const int64_t n = std::min(kScanBlock, shape_.n - i);
      load_(buffer, in_ + (first + i) * itemsize_, 1, n);
      running = scanBlock<Acc, A>(buffer, n, running);
      store_(out_ + (first + i) * out_itemsize_, buffer, 1, n);
    }
  }

  void columns(int64_t first, int64_t count) const {
    A running[kScanBlock], next[kScanBlock];
    std::fill_n(running, count, identityOf<A>(Acc::kJoin));
    for (int64_t r = 0; r < shape_.n; ++r) {
      const int64_t at = first + r * shape_.inner;
      load_(next, in_ + at * itemsize_, 1, count);
      stepColumns<Acc, A>(running, next, count);
      store_(out_ + at * out_itemsize_, running, 1, count);
    }
  }

  rows::Shape shape_;
  const std::byte* in_;
  std::byte* out_;
  int64_t itemsize_, out_itemsize_;
  void (*load_)(A*, const std::byte*, int64_t, int64_t);
  void (*store_)(std::byte*, const A*, int64_t, int64_t);
};

template <class Acc>
void scan(const rows::Request& request, const TensorImpl& in, const TensorImpl& out) {
  int64_t dim = 0;
  while (dim < in.dim() && !request.dims[static_cast<size_t>(dim)]) ++dim;
  const rows::Shape shape(in, dim, 1);
  if (shape.empty()) return;
  const bool single = in.dim() == 0;  // the element itself: -0 plus 0 would be 0
  rows::withComputeType(request.computeType(), [&]<class A>(A) {
    if constexpr ((Acc::kTypes & kTypeBit<A>) != 0) {
      const Scanner<Acc, A> scanner(in, out, shape);
      single ? scanner.copy() : scanner.run();
    }
  });
}

}  // namespace

void scanEngine(const rows::Request& request, const rows::Results& results) {
  const Tensor dense =
      request.self.is_contiguous() ? request.self : ops::contiguous::call(request.self, MemoryFormat::Contiguous);
  const TensorImpl &in = *dense.unsafeGetTensorImpl(), &out = *results.first.unsafeGetTensorImpl();
  if (request.op.accumulator == indexOf<accumulators::Sum>())
    scan<accumulators::Sum>(request, in, out);
  else
    scan<accumulators::Product>(request, in, out);
}

}  // namespace shunt::reduce
