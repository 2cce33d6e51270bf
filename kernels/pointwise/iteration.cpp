#include "kernels/pointwise/iteration.h"

#include "kernels/pointwise/stream.h"

#include <shunt/core/parallel.h>

#include <algorithm>
#include <atomic>
#include <cstring>

namespace shunt::elementwise {
namespace {

/// Rows at least this long are taken one by one; shorter ones are collected into chunks.
constexpr int64_t kLongRow = 64;

template <class Word>
void gatherWords(std::byte* dst, const std::byte* src, int64_t stride, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    storeRaw<Word>(dst + i * static_cast<int64_t>(sizeof(Word)), loadRaw<Word>(src + i * stride));
}

template <class Word>
void scatterWords(std::byte* dst, const std::byte* src, int64_t stride, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    storeRaw<Word>(dst + i * stride, loadRaw<Word>(src + i * static_cast<int64_t>(sizeof(Word))));
}

CastFn castFn(ScalarType from, ScalarType to) {
  return activeLoops().casts[static_cast<int>(from) * kDtypeSlots + static_cast<int>(to)];
}

/// A position in the iteration's index space, and each operand's address there.
struct Position {
  int64_t coords[kMaxDims];
  std::byte* p[kMaxOperands];

  Position(const Iteration& it, int64_t linear) {
    std::copy_n(it.data, it.num_operands, p);
    for (int d = 0; d < it.ndim; ++d) {
      coords[d] = linear % it.shape[d];
      linear /= it.shape[d];
      for (int k = 0; k < it.num_operands; ++k) p[k] += coords[d] * it.strides[k][d];
    }
  }

  void advance(const Iteration& it, int64_t n) {
    while (n > 0) {
      const int64_t step = std::min(n, it.shape[0] - coords[0]);
      move(it, 0, step);
      coords[0] += step;
      n -= step;
      carry(it);
    }
  }

 private:
  void move(const Iteration& it, int d, int64_t steps) {
    for (int k = 0; k < it.num_operands; ++k) p[k] += steps * it.strides[k][d];
  }
  void carry(const Iteration& it) {
    for (int d = 0; d < it.ndim && coords[d] == it.shape[d]; ++d) {
      move(it, d, -it.shape[d]);
      coords[d] = 0;
      if (d + 1 == it.ndim) return;
      move(it, d + 1, 1);
      ++coords[d + 1];
    }
  }
};

/// Calls `row(address, count)` for the rows that `n` elements of one operand from `start` on consist of.
template <class Row>
void forEachRow(const Iteration& it, int operand, const Position& start, int64_t n, Row row) {
  const int64_t* strides = it.strides[operand];
  std::byte* p = start.p[operand];
  int64_t first = start.coords[0];
  int64_t coords[kMaxDims];
  std::copy_n(start.coords, it.ndim, coords);
  while (true) {
    const int64_t count = std::min(n, it.shape[0] - first);
    row(p, count);
    n -= count;
    if (n == 0) return;
    p -= first * strides[0];
    first = 0;
    for (int d = 1; d < it.ndim; ++d) {
      p += strides[d];
      if (++coords[d] < it.shape[d]) break;
      p -= coords[d] * strides[d];
      coords[d] = 0;
    }
  }
}

/// Runs chunks of one iteration on one thread.
class ChunkRunner {
 public:
  ChunkRunner(const Iteration& it, bool store)
      : it_(it), store_(store), streamed_(store && it.streamed), long_rows_(it.ndim == 1 || it.shape[0] >= kLongRow) {
    for (int k = 0; k < it.num_operands; ++k) classify(k);
    if (!store) reach_[0] = Reach::kBuffer;
    bool buffers = streamed_;
    for (int k = 0; k < it.num_operands; ++k) {
      cast_[k] = it.dtypes[k] != it.loop_dtypes[k];
      buffers |= reach_[k] == Reach::kBuffer || (cast_[k] && reach_[k] != Reach::kRepeat);
    }
    limit_ = buffers ? kChunk : it.numel;
    plain_rows_ = !buffers && it.ndim == 2 && long_rows_;
    for (int k = 1; k < it.num_operands; ++k) plain_rows_ = plain_rows_ && !cast_[k];
  }

  bool run(int64_t begin, int64_t end) {
    if (plain_rows_ && begin == 0 && end == it_.numel) return rows();
    Position at(it_, begin);
    bool valid = true;
    while (begin < end) {
      int64_t n = std::min(end - begin, limit_);
      if (long_rows_) n = std::min(n, it_.shape[0] - at.coords[0]);
      valid &= chunk(at, n);
      begin += n;
      if (begin < end) at.advance(it_, n);
    }
    if (streamed_) streamFence();
    return valid;
  }

 private:
  enum class Reach : uint8_t {
    kDirect,  // elements of a chunk are consecutive
    kRepeat,  // one element for a whole chunk
    kBuffer,  // gathered or scattered
  };

  /// All rows of two dimensions where no operand needs a buffer.
  bool rows() {
    std::byte* out = it_.data[0];
    const std::byte* in[kMaxInputs] = {};
    uint32_t repeated = 0;
    for (int k = 1; k < it_.num_operands; ++k) {
      in[k - 1] = it_.data[k];
      if (reach_[k] == Reach::kRepeat) repeated |= 1u << (k - 1);
    }
    bool valid = true;
    for (int64_t row = 0; row < it_.shape[1]; ++row) {
      valid &= it_.loop(out, in, repeated, it_.shape[0], it_.scalars);
      out += it_.strides[0][1];
      for (int k = 1; k < it_.num_operands; ++k) in[k - 1] += it_.strides[k][1];
    }
    return valid;
  }

  int64_t itemsize(int k) const { return elementSize(it_.dtypes[k]); }

  void classify(int k) {
    const int64_t* strides = it_.strides[k];
    // In long rows only the row's own stride counts, since chunks don't leave it.
    const int dims = long_rows_ ? 1 : it_.ndim;
    bool direct = true, repeat = k > 0;
    int64_t step = itemsize(k);
    for (int d = 0; d < dims; ++d) {
      direct &= strides[d] == step;
      repeat &= strides[d] == 0;
      step *= it_.shape[d];
    }
    reach_[k] = direct ? Reach::kDirect : repeat ? Reach::kRepeat : Reach::kBuffer;
  }

  bool chunk(const Position& at, int64_t n) {
    const bool out_direct = reach_[0] == Reach::kDirect;
    std::byte* out = out_direct && !cast_[0] && !streamed_ ? at.p[0] : buffers_[0];
    const std::byte* in[kMaxInputs];
    uint32_t repeated = 0;
    // A copy needs no loop: what gathers or casts its input writes where the result belongs.
    const bool moved =
        it_.is_copy && !cast_[0] && (reach_[1] == Reach::kBuffer || (reach_[1] == Reach::kDirect && cast_[1]));
    for (int k = 1; k < it_.num_operands; ++k) {
      in[k - 1] = input(k, at, n, moved ? out : buffers_[k]);
      if (reach_[k] == Reach::kRepeat) repeated |= 1u << (k - 1);
    }
    const bool valid = moved || it_.loop(out, in, repeated, n, it_.scalars);
    if (store_ && (!out_direct || cast_[0] || streamed_)) output(at, n, out);
    return valid;
  }

  /// The operand's elements in the loop's dtype; `target` is where they go if they can't stay where they are.
  const std::byte* input(int k, const Position& at, int64_t n, std::byte* target) {
    const std::byte* p = at.p[k];
    if (reach_[k] == Reach::kRepeat) n = 1;
    if (reach_[k] == Reach::kBuffer) {
      std::byte* raw = cast_[k] ? raw_ : target;
      const int64_t size = itemsize(k), stride = it_.strides[k][0];
      std::byte* dst = raw;
      forEachRow(it_, k, at, n, [&](const std::byte* row, int64_t count) {
        gather(dst, row, stride, count, size);
        dst += count * size;
      });
      p = raw;
    }
    if (!cast_[k]) return p;
    castFn(it_.dtypes[k], it_.loop_dtypes[k])(target, p, n);
    return target;
  }

  void output(const Position& at, int64_t n, const std::byte* computed) {
    const bool direct = reach_[0] == Reach::kDirect;
    if (cast_[0]) {
      std::byte* target = direct && !streamed_ ? at.p[0] : raw_;
      castFn(it_.loop_dtypes[0], it_.dtypes[0])(target, computed, n);
      computed = target;
    }
    if (direct) {
      if (streamed_) streamCopy(at.p[0], computed, n * itemsize(0));
      return;
    }
    const int64_t size = itemsize(0), stride = it_.strides[0][0];
    forEachRow(it_, 0, at, n, [&](std::byte* row, int64_t count) {
      scatter(row, computed, stride, count, size);
      computed += count * size;
    });
  }

  const Iteration& it_;
  const bool store_;
  const bool streamed_;
  const bool long_rows_;
  bool plain_rows_;
  Reach reach_[kMaxOperands];
  bool cast_[kMaxOperands];
  int64_t limit_;
  alignas(64) std::byte buffers_[kMaxOperands][kChunk * 8];
  alignas(64) std::byte raw_[kChunk * 8];
};

}  // namespace

void gather(std::byte* dst, const std::byte* src, int64_t stride, int64_t n, int64_t itemsize) {
  switch (itemsize) {
    case 1:
      return gatherWords<uint8_t>(dst, src, stride, n);
    case 2:
      return gatherWords<uint16_t>(dst, src, stride, n);
    case 4:
      return gatherWords<uint32_t>(dst, src, stride, n);
    default:
      return gatherWords<uint64_t>(dst, src, stride, n);
  }
}

void scatter(std::byte* dst, const std::byte* src, int64_t stride, int64_t n, int64_t itemsize) {
  switch (itemsize) {
    case 1:
      return scatterWords<uint8_t>(dst, src, stride, n);
    case 2:
      return scatterWords<uint16_t>(dst, src, stride, n);
    case 4:
      return scatterWords<uint32_t>(dst, src, stride, n);
    default:
      return scatterWords<uint64_t>(dst, src, stride, n);
  }
}

PlanePosition::PlanePosition(const Iteration& iteration) : it(iteration) {
  std::copy_n(it.data, it.num_operands, p);
  std::fill_n(coords, it.ndim, 0);
}

bool PlanePosition::nextPlane() {
  for (int d = 2; d < it.ndim; ++d) {
    for (int k = 0; k < it.num_operands; ++k) p[k] += it.strides[k][d];
    if (++coords[d] < it.shape[d]) return true;
    for (int k = 0; k < it.num_operands; ++k) p[k] -= it.strides[k][d] * it.shape[d];
    coords[d] = 0;
  }
  return false;
}

bool execute(const Iteration& it, bool store) {
  if (it.numel == 0) return true;
  if (it.numel <= kDefaultGrain) return ChunkRunner(it, store).run(0, it.numel);
  std::atomic<bool> valid{true};
  parallelFor(0, it.numel, kDefaultGrain, [&](int64_t begin, int64_t end) {
    if (!ChunkRunner(it, store).run(begin, end)) valid.store(false, std::memory_order_relaxed);
  });
  return valid.load(std::memory_order_relaxed);
}

bool executeContiguous(LoopFn loop, std::byte* out, const std::byte* const* in, uint32_t repeated, int64_t n,
                       const ScalarSlot* scalars, const int64_t* sizes, int num_inputs, bool streamed) {
  std::atomic<bool> valid{true};
  const auto run = [&](std::byte* to, int64_t begin, int64_t end) {
    const std::byte* pointers[kMaxInputs];
    for (int i = 0; i < num_inputs; ++i) pointers[i] = in[i] + begin * sizes[1 + i];
    if (!loop(to, pointers, repeated, end - begin, scalars)) valid.store(false, std::memory_order_relaxed);
  };
  const auto runStreamed = [&](int64_t begin, int64_t end) {
    alignas(64) std::byte buffer[kStreamBlock];
    const int64_t block = kStreamBlock / sizes[0];
    const auto in_line = static_cast<int64_t>(reinterpret_cast<uintptr_t>(out + begin * sizes[0]) % kStreamLine);
    for (int64_t b = begin, e = b - in_line / sizes[0]; b < end; b = e) {
      e = std::min(e + block, end);
      run(buffer, b, e);
      streamCopy(out + b * sizes[0], buffer, (e - b) * sizes[0]);
    }
    streamFence();
  };
  parallelFor(0, n, kDefaultGrain, [&](int64_t begin, int64_t end) {
    if (streamed)
      runStreamed(begin, end);
    else
      run(out + begin * sizes[0], begin, end);
  });
  return valid.load(std::memory_order_relaxed);
}

}  // namespace shunt::elementwise
