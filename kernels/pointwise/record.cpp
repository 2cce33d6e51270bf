// Recording the operands of the call that makes a pair hot: the interpreter's side of expected.h.
#include "kernels/pointwise/descriptor.h"
#include "kernels/pointwise/expected_uniform.h"

#include <shunt/core/isa.h>
#include <shunt/elementwise/cast_loop.h>
#include <shunt/elementwise/recorded_loop.h>

#include <algorithm>
#include <bit>

namespace shunt::elementwise {
namespace {

namespace signature = ::shunt::detail::signature;

bool isPlain(const TensorImpl& t) { return signature::isPlainCpu(t.signature()); }

/// As in expected_dense.h, where rows and columns don't count: the first of the dense operands with the most dimensions
/// and elements; where there is none, of those of one element.
const TensorImpl* shapeOf(const Request& request) {
  const TensorImpl* found = nullptr;
  const auto precedes = [&](const TensorImpl& t) {
    if (found == nullptr || isPlain(t) != isPlain(*found)) return found == nullptr || isPlain(t);
    return t.dim() > found->dim() || (t.dim() == found->dim() && t.numel() > found->numel());
  };
  for (int i = 0; i < request.op.num_inputs; ++i) {
    const TensorImpl* t = request.inputs[i].tensor;
    if (t != nullptr && (isPlain(*t) || (t->numel() == 1 && t->device().is_cpu())) && precedes(*t)) found = t;
  }
  return found;
}

bool isUniformOf(const KernelDescriptor& op, const Record& record) {
  constexpr decltype(&isUniform<1>) kByInputs[] = {isUniform<1>, isUniform<2>, isUniform<3>};
  return kByInputs[op.num_inputs - 1](op, record);
}

/// As it seems; whether the guard can tell is asked afterwards.
uint8_t denseKind(const Argument& a, const TensorImpl* like, ScalarType common, bool mixed) {
  if (a.tensor == nullptr) {
    if (a.number == nullptr) return Record::kOther;
    return mixed || !numberFits(*a.number, common) ? categoryOf(*a.number) : uint8_t{Record::kNumber};
  }
  const TensorImpl& t = *a.tensor;
  if (!t.device().is_cpu() || like == nullptr) return Record::kOther;
  if (t.dim() == 0) return Record::kOneElement;
  if (t.numel() == 1) return kOneOfSeveralDims;
  if (!isPlain(t)) return Record::kOther;
  if (sameSizes(t, *like)) return Record::kSameShape;
  if (endsIn(*like, t)) return kRow;
  return rowBesideColumn(*like, t) >= kLeastRow ? kColumn : uint8_t{Record::kOther};
}

bool recordDense(const Request& request, const Tensor* out, Record& record) {
  const TensorImpl* like = shapeOf(request);
  const bool mixed = isMixed(request.op, record);
  for (int i = 0; i < request.op.num_inputs; ++i)
    record.kind[i] = denseKind(request.inputs[i], like, record.common, mixed);
  if (like != nullptr && like->numel() == 0)  // which no guard lets pass, but what follows has elements
    return std::ranges::find(record.kind, uint8_t{Record::kOther}) == std::end(record.kind);
  return isUniformOf(request.op, record) ? expectsUniform(request, out, record) : expectsDense(request, out, record);
}

uint8_t strideKind(int64_t stride, ScalarType dtype) {
  return stride == elementSize(dtype) ? kUnitStride : stride == 0 ? kZeroStride : kAnyStride;
}

/// Operands of any layout and shapes: by their strides along the plan's inner dimension.
bool recordStrides(const Request& request, const Tensor* out, const Plan& plan, Record& record) {
  const Iteration& it = plan.iteration();
  if (it.numel == 0) return false;
  for (int i = 0; i < request.op.num_inputs; ++i) {
    const TensorImpl* t = request.inputs[i].tensor;
    if (t != nullptr && !t->device().is_cpu()) return false;
    record.kind[i] = t == nullptr ? uint8_t{Record::kNumber} : strideKind(it.strides[1 + i][0], it.dtypes[1 + i]);
  }
  record.kind[kForcedPlace] = 0;  // the plan has settled the dtype
  const uint8_t output = strideKind(it.strides[0][0], it.dtypes[0]);
  record.kind[kOutputKind] = output == kUnitStride ? kUnitStride : kAnyStride;
  return expectsStrides(request, plan, out != nullptr, record);
}

/// The library's entry for a form, and what a thunk puts in its place.
template <int N>
void setEntry(const KernelDescriptor& op, const Record& record, Record::Places& places) {
  const bool strided = std::ranges::any_of(record.kind, isStride), uniform = isUniform<N>(op, record);
  const auto set = [&](auto* entry, auto* uniform_form, auto* dense_form, auto* strided_form, auto* miss) {
    places.entry = reinterpret_cast<const void*>(entry);
    places.expecting = reinterpret_cast<const void*>(strided ? strided_form : uniform ? uniform_form : dense_form);
    places.miss = strided ? reinterpret_cast<const void*>(&rowsMissed) : reinterpret_cast<const void*>(miss);
  };
  using Uniform = UniformCall<N>;
  using Dense = DenseCall<N>;
  if (record.form == Record::kFunctional)
    set(&runFunctional, &functionalExpected<Uniform>, &functionalExpected<Dense>, &functionalStrided<N>,
        &functionalMissed);
  else if (record.form == Record::kOut)
    set(&runOutRequest, &outExpected<Uniform>, &outExpected<Dense>, &outStrided<N>, &outMissed);
  else
    set(&runInplaceRequest, &inplaceExpected<Uniform>, &inplaceExpected<Dense>, &inplaceStrided<N>, &inplaceMissed);
}

GenericLoopFn genericLoopOf(const KernelDescriptor& op, ScalarType common) {
  const GenericLoopFn* loops = op.own_generic_loops;
  if (loops == nullptr && op.generic_shard != nullptr) loops = *op.generic_shard + op.row;
  if (loops == nullptr || common == ScalarType::Undefined) return nullptr;
  return loops[static_cast<size_t>(common)];
}

/// Whether the ahead-of-time loop takes the operands as they are.
bool isNatural(const KernelDescriptor& op, const Record& record) {
  if (record.common == ScalarType::Undefined) return false;
  for (int i = 0; i < op.num_inputs; ++i)
    if (record.signature[i] != 0 && dtypeOf(record, i) != op.loopInput(i, record.common)) return false;
  return true;
}

/// The inputs that are one element for each row.
uint32_t repeatedOf(const KernelDescriptor& op, const Record& record) {
  constexpr uint8_t kAdvancing[] = {Record::kSameShape, kRow, kUnitStride, kAnyStride};
  uint32_t repeated = 0;
  for (int i = 0; i < op.num_inputs; ++i)
    if (std::ranges::find(kAdvancing, record.kind[i]) == std::end(kAdvancing)) repeated |= 1u << i;
  return repeated;
}

// ---- Note [Loops that are called] ----------------------------------------------------------------------------------
// A thunk calls the loop of the instruction set in use where a copy of its own, made for its operands, is not worth its
// compile, which takes as long as that of all the rest. The call costs 0 to 1 ns: of 16 floats add takes 26.6 instead
// of 26.0 ns, relu 24.0 and 23.5, exp 29.6 and 28.5, pow 79.6 and 76.9. Of 256, interleaved loops are the better ones
// (exp 73.6 and 75.7, gelu 153 and 165), of float16 all large ones (exp 156 and 203), and of integers it makes no
// difference. (Whole calls, with AVX-512.) A copy of its own has what wins by it and is hot in most programs: small
// functors of floating-point numbers, along all elements, with AVX-512; but not clamp between two numbers (2,048
// floats: 102 called, 177 copied). With less than AVX-512 copies lose to calls: of 2,048 floats eq takes 122 called and
// 164 copied with AVX2; sqrt 725 and 2,792 with SSE2.
bool isBetterCalled(const KernelDescriptor& op, const Record& record) {
  constexpr auto kCopied = dtypeBit(kFloat) | dtypeBit(kDouble) | dtypeBit(kBFloat16);
  if (op.large || isSingle(op, record)) return true;
  const uint32_t repeated = repeatedOf(op, record);
  if (((op.broadcasts >> repeated) & 1) == 0) return false;  // the library's loop makes blocks of the repeated elements
  const bool whole =
      std::ranges::none_of(record.kind, [](uint8_t k) { return isStride(k) || k == kRow || k == kColumn; });
  return !whole || std::popcount(repeated) > 1 || (kCopied & dtypeBit(record.common)) == 0 ||
         shunt::detail::activeIsa() != Isa::kV4;
}

Record::Places placesOf(const KernelDescriptor& op, const Record& record) {
  Record::Places places;
  places.family = "elementwise";
  constexpr decltype(&setEntry<1>) kSetters[] = {setEntry<1>, setEntry<2>, setEntry<3>};
  kSetters[op.num_inputs - 1](op, record, places);
  places.placeholder = reinterpret_cast<const void*>(&expectedLoop);
  places.ready_placeholder = reinterpret_cast<const void*>(&readyLoop);
  places.loop = reinterpret_cast<const void*>(genericLoopOf(op, record.common));
  if (isNatural(op, record)) places.ready = reinterpret_cast<const void*>(op.loop(record.common));
  if (places.ready != nullptr && isBetterCalled(op, record)) places.loop = nullptr;
  places.expected = &kExpected;
  return places;
}

/// What the interpreter's entries do with a plan (run.cpp).
void executePlanned(const Request& request, Plan& plan, Tensor& out, Record::Form form) {
  ++path_counters.planned;
  if (recording()) [[unlikely]]
    recordOperands(request, form, form == Record::kFunctional ? nullptr : &out, plan.common(), &plan);
  plan.execute();
}

// ---- Note [Recorded loops] ----------------------------------------------------------------------------------------
// A compiled graph (src/compile) runs the loops of its pointwise nodes itself. Which loop a node needs, its inputs'
// order, and its numbers as the loop takes them, the kernel works out in C++ that is nowhere data; so one call of the
// node is recorded. Operators whose kernels do more than run one loop are told by the count of loops.
constinit thread_local RecordedLoop* recorded_loop = nullptr;

RecordedLoop* recordedLoop(const Record& record) {
  return recorded_loop != nullptr && static_cast<const Record*>(recorded_loop) == &record ? recorded_loop : nullptr;
}

void recordLoop(const Request& request, Record::Form form, const Tensor* out, ScalarType common, RecordedLoop& loop) {
  if (++loop.loops > 1) return;
  const KernelDescriptor& op = request.op;
  loop.form = form;
  loop.functor = op.id;
  loop.common = common;
  loop.places.loop = reinterpret_cast<const void*>(genericLoopOf(op, common));
  loop.may_refuse = op.invalid != nullptr;
  loop.only_copies = op.is_copy;
  loop.large = op.large;
  loop.written = out != nullptr ? out->unsafeGetTensorImpl() : nullptr;
  loop.run = common != ScalarType::Undefined && (op.types & dtypeBit(common)) != 0 ? op.loop(common) : nullptr;
  loop.num_inputs = op.num_inputs;
  loop.num_scalars = op.num_scalars;
  loop.output_dtype = op.loopOutput(common);
  for (int i = 0; i < op.num_inputs; ++i) {
    loop.inputs[i] = request.inputs[i].tensor;
    loop.input_dtypes[i] = op.loopInput(i, common);
    if (request.inputs[i].number != nullptr)
      storeNumber(*request.inputs[i].number, loop.input_dtypes[i], loop.numbers[i]);
  }
  for (int s = 0; s < op.num_scalars; ++s) storeScalar(*request.scalars[s], common, loop.scalars[s]);
}

}  // namespace

CastLoop castLoopOf(ScalarType from, ScalarType to) {
  const auto row = static_cast<size_t>(from), column = static_cast<size_t>(to);
  if (row >= kDtypeSlots || column >= kDtypeSlots) return {};
  const CastFn run = activeLoops().casts[row * kDtypeSlots + column];
  if (run == nullptr) return {};
  return {run, genericLoopOf(kDescriptor<functors::Copy>, to)};
}

RecordingOfLoop::RecordingOfLoop(RecordedLoop& loop)
    : outer_record_(::shunt::detail::tls_state.record), outer_(recorded_loop) {
  loop.depth = ::shunt::detail::threadFrames().depth();
  ::shunt::detail::tls_state.record = recorded_loop = &loop;
}
RecordingOfLoop::~RecordingOfLoop() {
  ::shunt::detail::tls_state.record = outer_record_;
  recorded_loop = outer_;
}

const Record kExpected{};

// In the library nothing is expected.
bool expectedLoop(const View&, const View*, int64_t, const ScalarSlot*, ScalarType, const KernelDescriptor&) noexcept {
  return false;
}
bool readyLoop(std::byte*, const std::byte* const*, uint32_t, int64_t, const ScalarSlot*) noexcept { return false; }

void recordOperands(const Request& request, Record::Form form, const Tensor* out, ScalarType common, const Plan* plan) {
  Record& record = *::shunt::detail::tls_state.record;
  // A call inside the recorded one has its own frame.
  const int32_t depth = ::shunt::detail::threadFrames().depth();
  RecordedLoop* const whole = recordedLoop(record);
  if (whole != nullptr && depth != record.depth) whole->inner_loops = true;
  if (depth != record.depth) return ::shunt::detail::recordInnerLoop(depth);
  if (whole != nullptr) return recordLoop(request, form, out, common, *whole);
  if (record.form != Record::kUnseen) return;
  record.form = form;
  record.functor = request.op.id;
  record.common = common;
  if (request.common != ScalarType::Undefined) record.kind[kForcedPlace] = kForced;
  for (int i = 0; i < request.op.num_inputs; ++i)
    if (request.inputs[i].tensor != nullptr) record.signature[i] = request.inputs[i].tensor->signature();
  if (out != nullptr && out->defined()) record.output = out->unsafeGetTensorImpl()->signature();
  const bool expected =
      recordDense(request, out, record) || (plan != nullptr && recordStrides(request, out, *plan, record));
  if (!expected) std::ranges::fill(record.kind, uint8_t{Record::kOther});
  record.places = placesOf(request.op, record);
  if (!expected) record.places.loop = record.places.ready = nullptr;  // a guard that never holds is worth nothing
}

namespace {

/// Whether two inputs have dimensions, and other sizes than each other: the commonest reason for a miss, and for the
/// interpreter one for a plan, whatever else the operands are. Its fast path takes 250 instructions to find that out.
SHUNT_ALWAYS_INLINE bool needsPlan(const Request& request) {
  const TensorImpl* first = nullptr;
  for (int i = 0; i < request.op.num_inputs; ++i) {
    const TensorImpl* t = request.inputs[i].tensor;
    if (t == nullptr || t->dim() == 0) continue;
    if (first != nullptr && !sameSizes(*t, *first)) return true;
    if (first == nullptr) first = t;
  }
  return false;
}

}  // namespace

Tensor functionalMissed(const Request& request, jit::MissCount* misses) {
  return ::shunt::detail::runMissed(misses, needsPlan(request) ? &runFunctionalPlanned : &runFunctional, request);
}
void outMissed(const Request& request, Tensor& out, jit::MissCount* misses) {
  ::shunt::detail::runMissed(misses, needsPlan(request) ? &runOutPlanned : &runOutRequest, request, out);
}
void inplaceMissed(const Request& request, Tensor& self, jit::MissCount* misses) {
  ::shunt::detail::runMissed(misses, needsPlan(request) ? &runInplacePlanned : &runInplaceRequest, request, self);
}

void rowsMissed(const Request& request, Plan& plan, Tensor& out, Record::Form form, jit::MissCount* misses) {
  ::shunt::detail::runMissed(misses, &executePlanned, request, plan, out, form);
}

}  // namespace shunt::elementwise
