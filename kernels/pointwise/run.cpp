// The entry points, and the fast path: contiguous CPU tensors of one dtype and shape, 0-dim tensors and numbers between
// them, go straight to the loop. Everything else takes a Plan.
#include "kernels/pointwise/run.h"

#include "generated/native_functions.h"
#include "kernels/common/overlap.h"
#include "kernels/pointwise/expected.h"
#include "kernels/pointwise/fast_call.h"
#include "kernels/pointwise/stream.h"

#include <shunt/core/parallel.h>

namespace shunt::elementwise {
namespace {

namespace signature = ::shunt::detail::signature;

struct FastCall {
  const TensorImpl* shape_of = nullptr;  // the operand that has the result's shape
  ScalarType common;
  uint32_t repeated = 0;
  const std::byte* in[kMaxInputs];
  ScalarSlot numbers[kMaxInputs];
  ScalarSlot scalars[kMaxScalars];
};

SHUNT_ALWAYS_INLINE const TensorImpl* findShape(const Request& r) {
  const TensorImpl* found = nullptr;
  for (int i = 0; i < r.op.num_inputs; ++i) {
    const TensorImpl* t = r.inputs[i].tensor;
    if (t == nullptr || ((r.op.operands >> i) & 1) == 0) continue;
    if (found == nullptr || found->dim() == 0) found = t;
  }
  return found;
}

SHUNT_ALWAYS_INLINE bool addInput(const Request& r, int i, FastCall& call) {
  const TensorImpl* t = r.inputs[i].tensor;
  const TensorImpl& like = *call.shape_of;
  if (t == nullptr) {
    const Scalar* number = r.inputs[i].number;
    if (number == nullptr || ((r.op.operands >> i) & 1) == 0 || !numberFits(*number, call.common)) return false;
    storeFast(*number, call.common, call.numbers[i]);
    call.in[i] = call.numbers[i].bytes;
    call.repeated |= 1u << i;
    return true;
  }
  call.in[i] = t->data();
  const bool mask = ((r.op.masks >> i) & 1) != 0;
  if (t == &like && !mask) return true;
  if (mask ? t->dtype() != kBool || !t->device().is_cpu() : !signature::sameKind(t->signature(), like.signature()))
    return false;
  if (!t->is_contiguous()) return false;
  if (sameSizes(*t, like)) [[likely]]
    return true;
  call.repeated |= 1u << i;
  return t->dim() == 0;
}

/// How a result lies that has operands of other shapes depends on the strides of all that have its shape, also on those
/// of dimensions of size 1: a plan knows.
SHUNT_ALWAYS_INLINE bool liesAsNew(const Request& r, const FastCall& call) {
  for (int i = 0; i < r.op.num_inputs; ++i)
    if (((call.repeated >> i) & 1) == 0 && !hasRowMajorStrides(*r.inputs[i].tensor)) return false;
  return true;
}

/// The commonest case: every input a contiguous CPU tensor, all of one dtype and shape, or a number beside floats.
SHUNT_ALWAYS_INLINE bool prepareUniform(const Request& r, FastCall& call) {
  const KernelDescriptor& op = r.op;
  const TensorImpl* first = r.inputs[0].tensor;
  if (first == nullptr || op.masks != 0 || !signature::isPlainCpu(first->signature())) return false;
  call.common = first->dtype();
  if ((op.types & dtypeBit(call.common)) == 0) return false;
  const int64_t size = elementSize(call.common);
  call.in[0] = first->storage()->data() + first->storage_offset() * size;
  for (int i = 1; i < op.num_inputs; ++i) {
    const TensorImpl* t = r.inputs[i].tensor;
    if (t == nullptr) {
      const Scalar* number = r.inputs[i].number;
      if (number == nullptr || number->isBoolean() || call.common != kFloat || first->numel() == 0) return false;
      storeRaw<float>(call.numbers[i].bytes, static_cast<float>(number->toDouble()));
      call.in[i] = call.numbers[i].bytes;
      call.repeated |= 1u << i;
      continue;
    }
    if (t->signature() != first->signature() || !sameSizes(*t, *first)) return false;
    call.in[i] = t->storage()->data() + t->storage_offset() * size;
  }
  call.shape_of = first;
  return call.repeated == 0 || liesAsNew(r, call);
}

SHUNT_NOINLINE bool prepareInputs(const Request& r, FastCall& call) {
  const KernelDescriptor& op = r.op;
  call.repeated = 0;
  call.shape_of = findShape(r);
  if (call.shape_of == nullptr) return false;
  const TensorImpl& like = *call.shape_of;
  call.common = like.dtype();
  if ((op.types & dtypeBit(call.common)) == 0 || !like.is_contiguous() || !like.device().is_cpu() ||
      like.is_wrapped_number())
    return false;
  for (int i = 0; i < op.num_inputs; ++i)
    if (!addInput(r, i, call)) return false;
  return call.repeated == 0 || liesAsNew(r, call);
}

/// Whether a given tensor can take the result as it is: no cast, no resizing, no overlap that needs a closer look.
SHUNT_ALWAYS_INLINE bool canWrite(const Request& r, const FastCall& call, const TensorImpl& out) {
  if (r.op.invalid != nullptr || out.dtype() != r.op.loopOutput(call.common)) return false;
  if (!out.is_contiguous() || !out.device().is_cpu() || !sameSizes(out, *call.shape_of)) return false;
  for (int i = 0; i < r.op.num_inputs; ++i) {
    const TensorImpl* t = r.inputs[i].tensor;
    if (t != nullptr && t != &out && t->storage() == out.storage()) return false;
  }
  return true;
}

/// `out` is null for a new tensor. What is wrong with the scalars is said last, as by a plan.
SHUNT_ALWAYS_INLINE bool prepare(const Request& r, FastCall& call, const TensorImpl* out) {
  if (r.common != ScalarType::Undefined) [[unlikely]]
    if (r.inputs[0].tensor == nullptr || r.inputs[0].tensor->dtype() != r.common) return false;
  const bool uniform = prepareUniform(r, call);
  if (!uniform && (!prepareInputs(r, call) || call.shape_of->numel() == 0))
    return false;  // a plan knows empty results' strides
  if (out != nullptr && !canWrite(r, call, *out)) [[unlikely]]
    return false;
  if (uniform && call.common == kFloat) [[likely]] {
    // No check can fail here unless a scalar is a bool (functor_checks.h).
    bool plain = true;
    for (int s = 0; s < r.op.num_scalars; ++s) {
      plain &= !r.scalars[s]->isBoolean();
      storeRaw<float>(call.scalars[s].bytes, static_cast<float>(r.scalars[s]->toDouble()));
    }
    if (plain) [[likely]]
      return true;
  }
  prepareScalars(r, call.common, call.scalars);
  return true;
}

SHUNT_NOINLINE bool runLarge(const Request& r, const FastCall& call, std::byte* out, int64_t n) {
  int64_t sizes[kMaxOperands];
  sizes[0] = elementSize(r.op.loopOutput(call.common));
  bool streamed = isWorthStreaming(out, n * sizes[0]);
  for (int i = 0; i < r.op.num_inputs; ++i) {
    sizes[1 + i] = ((call.repeated >> i) & 1) != 0 ? 0 : elementSize(r.op.loopInput(i, call.common));
    streamed = streamed && call.in[i] != out;  // other inputs are apart: canWrite
  }
  path_counters.streamed += streamed;
  return executeContiguous(r.op.loop(call.common), out, call.in, call.repeated, n, call.scalars, sizes, r.op.num_inputs,
                           streamed);
}

SHUNT_ALWAYS_INLINE void runFast(const Request& r, const FastCall& call, std::byte* out) {
  ++path_counters.fast;
  const int64_t n = call.shape_of->numel();
  const bool valid = n <= kDefaultGrain ? r.op.loop(call.common)(out, call.in, call.repeated, n, call.scalars)
                                        : runLarge(r, call, out, n);
  if (!valid) [[unlikely]]
    throwInvalidElement(r);
}

Record::Form formOf(OutputKind kind) { return kind == OutputKind::kInplace ? Record::kInplace : Record::kOut; }

/// Whether there may be an overlap that a plan doesn't see.
bool mayReadWhatIsWritten(const Request& r, const Tensor& out) {
  const TensorImpl* impl = out.unsafeGetTensorImpl();
  if (impl == nullptr) return false;
  for (int i = 0; i < r.op.num_inputs; ++i) {
    const TensorImpl* t = r.inputs[i].tensor;
    if (t != nullptr && t != impl && t->storage() == impl->storage() && mayOverlapUnseen(*impl, *t)) return true;
  }
  return false;
}

/// The request, and copies of inputs of which nobody can say whether they overlap the output: they are read before
/// anything is written.
struct ReadFirst {
  ReadFirst(const Request& r, const TensorImpl& out) : request(r) {
    for (int i = 0; i < r.op.num_inputs; ++i) {
      TensorImpl* t = r.inputs[i].tensor;
      if (t == nullptr || t == &out || t->storage() != out.storage() || !mayOverlapUnseen(out, *t)) continue;
      copies[i] = native::clone(Tensor(intrusive_ptr<TensorImpl>::retainFrom(t)), std::nullopt);
      request.inputs[i].tensor = copies[i].unsafeGetTensorImpl();
    }
  }
  Request request;
  Tensor copies[kMaxInputs];
};

SHUNT_NOINLINE void runPlanned(const Request& request, OutputKind kind, Tensor& out) {
  if (mayReadWhatIsWritten(request, out)) [[unlikely]]
    return runPlanned(ReadFirst(request, *out.unsafeGetTensorImpl()).request, kind, out);
  ++path_counters.planned;
  Plan plan(request, kind, out);
  if (recording()) [[unlikely]]
    recordOperands(request, formOf(kind), &out, plan.common(), &plan);
  plan.execute();
}

SHUNT_ALWAYS_INLINE void runGiven(const Request& request, OutputKind kind, Tensor& out) {
  FastCall call;
  const TensorImpl* impl = out.unsafeGetTensorImpl();
  if (impl != nullptr && prepare(request, call, impl)) [[likely]] {
    if (recording()) [[unlikely]]
      recordOperands(request, formOf(kind), &out, call.common, nullptr);
    return runFast(request, call, impl->data());
  }
  runPlanned(request, kind, out);
}

}  // namespace

SHUNT_NOINLINE Tensor runFunctionalPlanned(const Request& request) {
  ++path_counters.planned;
  Tensor out;
  Plan plan(request, OutputKind::kNew, out);
  if (recording()) [[unlikely]]
    recordOperands(request, Record::kFunctional, nullptr, plan.common(), &plan);
  plan.execute();
  return out;
}

void runOutPlanned(const Request& request, Tensor& out) { runPlanned(request, OutputKind::kOut, out); }
void runInplacePlanned(const Request& request, Tensor& self) { runPlanned(request, OutputKind::kInplace, self); }

Tensor runFunctional(const Request& request) {
  FastCall call;
  if (!prepare(request, call, nullptr)) [[unlikely]]
    return runFunctionalPlanned(request);
  if (recording()) [[unlikely]]
    recordOperands(request, Record::kFunctional, nullptr, call.common, nullptr);
  Tensor out(intrusive_ptr<TensorImpl>::reclaim(
      ::shunt::detail::newCpuTensorLike(*call.shape_of, request.op.loopOutput(call.common))));
  runFast(request, call, out.unsafeGetTensorImpl()->data());
  return out;
}

void runOutRequest(const Request& request, Tensor& out) { runGiven(request, OutputKind::kOut, out); }

void runInplaceRequest(const Request& request, Tensor& self) { runGiven(request, OutputKind::kInplace, self); }

}  // namespace shunt::elementwise
