#include "kernels/pointwise/expected.h"

#include "kernels/pointwise/fast_call.h"

#include <shunt/core/parallel.h>

namespace shunt::elementwise {
namespace {

/// Calls f(0) to f(N - 1), each with a constant.
template <int N, class F>
SHUNT_ALWAYS_INLINE void unrolled(const F& f) {
  [&]<int... I>(std::integer_sequence<int, I...>)
      __attribute__((always_inline)) { (f(I), ...); }(std::make_integer_sequence<int, N>());
}

/// What a request of N inputs refers to, read before anything else: the library's functions see the request, and behind
/// a call of one of them nothing of it would be a constant.
template <int N>
struct Parts {
  const KernelDescriptor& op;
  ScalarType forced;
  const TensorImpl* tensors[N];
  const Scalar* numbers[N];
  const Scalar* scalars[kMaxScalars];

  SHUNT_ALWAYS_INLINE explicit Parts(const Request& r) : op(r.op), forced(r.common) {
    forEachInput([&](int i) __attribute__((always_inline)) {
      tensors[i] = r.inputs[i].tensor;
      numbers[i] = r.inputs[i].number;
    });
    unrolled<kMaxScalars>([&](int s) __attribute__((always_inline)) { scalars[s] = r.scalars[s]; });
  }
  template <class F>
  SHUNT_ALWAYS_INLINE static void forEachInput(const F& f) {
    unrolled<N>(f);
  }
};

/// Rows of consecutive elements: one of them where all shapes are the same.
struct ExpectedCall {
  const TensorImpl* shape_of = nullptr;
  int64_t row = -1;  // elements, where an operand is repeated for each
  View in[kMaxInputs];
  int64_t step[kMaxInputs];  // from a row to the next, in bytes, once for each row
};
/// Apart, since addresses of these are given away.
struct Slots {
  ScalarSlot numbers[kMaxInputs];
  ScalarSlot scalars[kMaxScalars];
};

SHUNT_ALWAYS_INLINE constexpr int64_t sizeOf(ScalarType dtype) { return elementSize(dtype); }
SHUNT_ALWAYS_INLINE ScalarType dtypeOf(const Record& e, int i) {
  return ::shunt::detail::signature::dtypeOf(e.signature[i]);
}

SHUNT_ALWAYS_INLINE std::byte* dataOf(const TensorImpl& t, ScalarType dtype) {
  return t.storage()->data() + t.storage_offset() * sizeOf(dtype);
}

/// Of the operands that are dense, the first of those with the most dimensions.
template <int N>
SHUNT_ALWAYS_INLINE bool findShape(const Parts<N>& p, const Record& e, ExpectedCall& call) {
  bool found = true;
  p.forEachInput([&](int i) __attribute__((always_inline)) {
    if (e.kind[i] != Record::kSameShape || !found) return;
    const TensorImpl* t = p.tensors[i];
    found = t != nullptr && t->signature() == e.signature[i];
    if (found && (call.shape_of == nullptr || t->dim() > call.shape_of->dim())) call.shape_of = t;
  });
  return found && call.shape_of != nullptr;
}

template <int N>
SHUNT_ALWAYS_INLINE bool takeNumber(const Parts<N>& p, int i, const Record& e, ExpectedCall& call, Slots& slots) {
  const Scalar* number = p.numbers[i];
  if (p.tensors[i] != nullptr || number == nullptr || !numberFits(*number, e.common)) return false;
  if (e.common == kFloat && number->isBoolean()) return false;  // takeScalars leaves out the checks, which refuse some
  storeFast(*number, e.common, slots.numbers[i]);
  call.in[i] = {slots.numbers[i].bytes, 0, e.common};
  return true;
}

/// All operands that make rows make the same.
SHUNT_ALWAYS_INLINE bool takeRow(int64_t row, ExpectedCall& call) {
  if (row < 0 || (call.row >= 0 && call.row != row)) return false;
  call.row = row;
  return true;
}

SHUNT_ALWAYS_INLINE bool takeColumn(const TensorImpl* t, int i, const Record& e, ExpectedCall& call) {
  if (t == nullptr || t->signature() != e.signature[i]) return false;
  const int64_t row = rowBesideColumn(*call.shape_of, *t);
  call.in[i] = {dataOf(*t, dtypeOf(e, i)), 0, dtypeOf(e, i)};
  return row >= kLeastRow && takeRow(row, call);
}

SHUNT_ALWAYS_INLINE bool takeDense(const TensorImpl& t, int i, const Record& e, ExpectedCall& call) {
  const ScalarType dtype = dtypeOf(e, i);
  call.in[i] = {dataOf(t, dtype), sizeOf(dtype), dtype};
  call.step[i] = sizeOf(dtype);
  if (&t == call.shape_of || sameSizes(t, *call.shape_of)) [[likely]]
    return true;
  call.step[i] = 0;
  return takeRow(rowOf(*call.shape_of, t), call);
}

/// Only kinds, dtypes and layouts are constants; shapes are compared.
template <int N>
SHUNT_ALWAYS_INLINE bool takeInput(const Parts<N>& p, int i, const Record& e, ExpectedCall& call, Slots& slots) {
  call.step[i] = 0;
  if (e.kind[i] == Record::kNumber) return takeNumber(p, i, e, call, slots);
  const TensorImpl* t = p.tensors[i];
  if (e.kind[i] == Record::kSameShape) return takeDense(*t, i, e, call);
  if (e.kind[i] == kColumn) return takeColumn(t, i, e, call);
  if (e.kind[i] != Record::kOneElement && e.kind[i] != kOneOfSeveralDims) return false;
  if (t == nullptr || t->signature() != e.signature[i]) return false;
  // By the number of dimensions types are promoted.
  if (e.kind[i] == Record::kOneElement ? t->dim() != 0 : t->dim() == 0 || t->dim() > call.shape_of->dim()) return false;
  call.in[i] = {dataOf(*t, dtypeOf(e, i)), 0, dtypeOf(e, i)};
  return true;
}

template <int N>
SHUNT_ALWAYS_INLINE bool takeScalars(const Request& r, const Parts<N>& p, const Record& e, Slots& slots) {
  if (p.op.num_scalars == 0 && p.op.check == nullptr) return true;
  if (e.common == kFloat) {
    // As in the interpreter: no check can fail here unless a scalar is a bool (functor_checks.h).
    bool plain = true;
    unrolled<kMaxScalars>([&](int s) __attribute__((always_inline)) {
      if (s >= p.op.num_scalars) return;
      plain &= !p.scalars[s]->isBoolean();
      storeRaw<float>(slots.scalars[s].bytes, static_cast<float>(p.scalars[s]->toDouble()));
    });
    return plain;
  }
  prepareScalarsApart(r, e.common, slots.scalars);
  return true;
}

/// From here on the interpreter's interleaved loop saves more than the call costs.
constexpr int64_t kMostUninterleaved = 2048;

/// Whether the interpreter's result is dense whatever the operands' strides in dimensions that address nothing: its
/// fast path (run.cpp). Otherwise it follows those strides, so they must be the usual ones.
template <int N>
SHUNT_ALWAYS_INLINE bool ignoresIdleStrides(const Parts<N>& p, const Record& e) {
  bool uniform = true;
  p.forEachInput([&](int i) __attribute__((always_inline)) {
    const bool mask = ((p.op.masks >> i) & 1) != 0;
    uniform &= e.kind[i] == Record::kSameShape && (mask || dtypeOf(e, i) == e.common);
  });
  return uniform;
}

template <int N>
SHUNT_ALWAYS_INLINE bool takeInputs(const Request& r, const Parts<N>& p, const Record& e, Record::Form form,
                                    ExpectedCall& call, Slots& slots) {
  if (e.form != form || p.op.num_inputs != N || p.op.id != e.functor || p.forced != ScalarType::Undefined ||
      !findShape(p, e, call))
    return false;
  bool taken = true;
  p.forEachInput([&](int i) __attribute__((always_inline)) { taken = taken && takeInput(p, i, e, call, slots); });
  const bool uniform = ignoresIdleStrides(p, e) && call.row < 0;
  if (!taken ||
      call.shape_of->numel() > (uniform && e.common == kFloat && p.op.interleaved ? kMostUninterleaved : kDefaultGrain))
    return false;
  return uniform || (call.shape_of->numel() != 0 && haveUsualStrides(r));
}

template <int N>
SHUNT_ALWAYS_INLINE void loop(const Request& r, const Parts<N>& p, const Record& e, ExpectedCall& call,
                              const Slots& slots, std::byte* out, ScalarType result) {
  const int64_t numel = call.shape_of->numel(), row = call.row < 0 ? numel : call.row;
  bool valid = true;
  for (int64_t at = 0; at < numel; at += row) {
    valid &= expectedLoop(View{out + at * sizeOf(result), sizeOf(result), result}, call.in, row, slots.scalars,
                          e.common, p.op);
    unrolled<N>([&](int i) __attribute__((always_inline)) {
      if (e.kind[i] == Record::kSameShape) call.in[i].p += call.step[i] * row;
      if (e.kind[i] == kColumn) call.in[i].p += sizeOf(dtypeOf(e, i));
    });
  }
  if (!valid) [[unlikely]]
    throwInvalidElement(r);
}

/// The same conditions as for the interpreter's fast path (run.cpp: canWrite).
template <int N>
SHUNT_ALWAYS_INLINE bool canTake(const Parts<N>& p, const Record& e, const ExpectedCall& call, const TensorImpl* out) {
  if (out == nullptr || p.op.invalid != nullptr || out->signature() != e.output || !sameSizes(*out, *call.shape_of))
    return false;
  bool apart = true;
  p.forEachInput([&](int i) __attribute__((always_inline)) {
    const TensorImpl* t = p.tensors[i];
    apart &= t == nullptr || t == out || t->storage() != out->storage();
  });
  return apart;
}

SHUNT_ALWAYS_INLINE bool hasStride(uint8_t kind, int64_t stride, ScalarType dtype) {
  return kind == kAnyStride || stride == (kind == kUnitStride ? sizeOf(dtype) : 0);
}

/// Whether the inner dimension of every operand is as it was in the call that was recorded, and long enough to be worth
/// it.
template <int N>
SHUNT_ALWAYS_INLINE bool fits(const Parts<N>& p, const Record& e, const Plan& plan, const Iteration& it, bool given) {
  if (p.op.id != e.functor || p.op.num_inputs != N || plan.common() != e.common || it.numel == 0 ||
      it.numel > kDefaultGrain)
    return false;
  if (it.shape[0] < kLeastRow && it.ndim > 1) return false;
  if (given && p.op.invalid != nullptr) return false;
  const ScalarType result = p.op.loopOutput(e.common);
  bool same = it.dtypes[0] == result && hasStride(e.kind[kOutputKind], it.strides[0][0], result);
  p.forEachInput([&](int i) __attribute__((always_inline)) {
    if (e.kind[i] == Record::kNumber) {
      same = same && p.numbers[i] != nullptr;
      return;
    }
    same = same && p.tensors[i] != nullptr && p.tensors[i]->signature() == e.signature[i];
    same = same && hasStride(e.kind[i], it.strides[1 + i][0], dtypeOf(e, i));
  });
  return same;
}

/// Elements of one operand where the loop can take them, a chunk at a time.
struct alignas(64) Gathered {
  std::byte bytes[kChunk * 8];
};

/// Row by row, whatever the layouts; gathered ones chunk by chunk.
template <int N>
SHUNT_ALWAYS_INLINE void runRows(const Request& r, const Parts<N>& p, const Record& e, const Iteration& it) {
  const ScalarType result = p.op.loopOutput(e.common);
  const bool scatters = e.kind[kOutputKind] == kAnyStride;
  bool gathers = scatters;
  p.forEachInput([&](int i) __attribute__((always_inline)) { gathers |= e.kind[i] == kAnyStride; });
  Gathered gathered[N], computed;
  const int64_t row = it.shape[0], most = gathers ? kChunk : row;
  RowPosition at(it);
  bool valid = true;
  do {
    int64_t begin = 0;
    do {
      const int64_t n = gathers && row - begin > most ? most : row - begin;
      View in[kMaxInputs];
      p.forEachInput([&](int i) __attribute__((always_inline)) {
        const ScalarType dtype = e.kind[i] == Record::kNumber ? p.op.loopInput(i, e.common) : dtypeOf(e, i);
        const int64_t stride = it.strides[1 + i][0];
        if (e.kind[i] == kAnyStride) gather(gathered[i].bytes, at.p[1 + i] + begin * stride, stride, n, sizeOf(dtype));
        if (e.kind[i] == kAnyStride)
          in[i] = {gathered[i].bytes, sizeOf(dtype), dtype};
        else if (e.kind[i] == kUnitStride)
          in[i] = {at.p[1 + i] + begin * sizeOf(dtype), sizeOf(dtype), dtype};
        else
          in[i] = {at.p[1 + i], 0, dtype};
      });
      std::byte* out = scatters ? computed.bytes : at.p[0] + begin * sizeOf(result);
      valid &= expectedLoop(View{out, sizeOf(result), result}, in, n, it.scalars, e.common, p.op);
      if (scatters) scatter(at.p[0] + begin * it.strides[0][0], out, it.strides[0][0], n, sizeOf(result));
      begin += n;
    } while (gathers && begin < row);
  } while (at.next());
  if (!valid) [[unlikely]]
    throwInvalidElement(r);
}

/// The interpreter's plan, with the expected loop instead of its gathering ones.
template <int N>
SHUNT_ALWAYS_INLINE void runStrided(const Request& r, OutputKind kind, Tensor& out) {
  const Parts<N> p(r);
  Plan plan(r, kind, out);
  if (!fits(p, kExpected, plan, plan.iteration(), kind != OutputKind::kNew) || !plan.outputIsApart()) [[unlikely]]
    return executePlan(plan);
  runRows(r, p, kExpected, plan.iteration());
}

template <int N>
SHUNT_ALWAYS_INLINE bool writeExpected(const Request& r, Record::Form form, Tensor& given) {
  const Parts<N> p(r);
  const ScalarType result = p.op.loopOutput(kExpected.common);
  ExpectedCall call;
  Slots slots;
  const TensorImpl* out = given.unsafeGetTensorImpl();
  if (!takeInputs(r, p, kExpected, form, call, slots) || !canTake(p, kExpected, call, out) ||
      !takeScalars(r, p, kExpected, slots))
    return false;
  loop<N>(r, p, kExpected, call, slots, dataOf(*out, result), result);
  return true;
}

}  // namespace

void executePlan(Plan& plan) {
  ++path_counters.planned;
  plan.execute();
}

void prepareScalarsApart(const Request& r, ScalarType common, ScalarSlot* slots) { prepareScalars(r, common, slots); }

int64_t rowOf(const TensorImpl& whole, const TensorImpl& t) { return endsIn(whole, t) ? t.numel() : -1; }

int64_t rowBesideColumn(const TensorImpl& whole, const TensorImpl& t) {
  const IntArrayRef x = whole.sizes(), y = t.sizes();
  if (x.size() != y.size() || x.empty() || y.back() != 1) return -1;
  for (size_t d = 0; d + 1 < x.size(); ++d)
    if (x[d] != y[d]) return -1;
  return x.back();
}

bool haveUsualStrides(const Request& r) {
  for (int i = 0; i < r.op.num_inputs; ++i)
    if (const TensorImpl* t = r.inputs[i].tensor; t != nullptr && (t->numel() == 0 || !hasRowMajorStrides(*t)))
      return false;
  return true;
}

template <int N>
Tensor functionalExpected(const Request& r) {
  const Parts<N> p(r);
  const ScalarType result = p.op.loopOutput(kExpected.common);
  ExpectedCall call;
  Slots slots;
  if (!takeInputs(r, p, kExpected, Record::kFunctional, call, slots) || !takeScalars(r, p, kExpected, slots))
      [[unlikely]]
    return runFunctional(r);
  Tensor out(::shunt::detail::makeCpuTensor(call.shape_of->sizes(), {}, result));
  loop<N>(r, p, kExpected, call, slots, dataOf(*out.unsafeGetTensorImpl(), result), result);
  return out;
}

template <int N>
void outExpected(const Request& r, Tensor& out) {
  if (!writeExpected<N>(r, Record::kOut, out)) [[unlikely]]
    runOutRequest(r, out);
}

template <int N>
void inplaceExpected(const Request& r, Tensor& self) {
  if (!writeExpected<N>(r, Record::kInplace, self)) [[unlikely]]
    runInplaceRequest(r, self);
}

template <int N>
Tensor functionalStrided(const Request& r) {
  Tensor out;
  runStrided<N>(r, OutputKind::kNew, out);
  return out;
}

template <int N>
void outStrided(const Request& r, Tensor& out) {
  runStrided<N>(r, OutputKind::kOut, out);
}

template <int N>
void inplaceStrided(const Request& r, Tensor& self) {
  runStrided<N>(r, OutputKind::kInplace, self);
}

#define SHUNT_INSTANTIATE(n)                                 \
  template Tensor functionalExpected<n>(const Request&);     \
  template void outExpected<n>(const Request&, Tensor&);     \
  template void inplaceExpected<n>(const Request&, Tensor&); \
  template Tensor functionalStrided<n>(const Request&);      \
  template void outStrided<n>(const Request&, Tensor&);      \
  template void inplaceStrided<n>(const Request&, Tensor&);
SHUNT_INSTANTIATE(1)
SHUNT_INSTANTIATE(2)
SHUNT_INSTANTIATE(3)
#undef SHUNT_INSTANTIATE

}  // namespace shunt::elementwise
