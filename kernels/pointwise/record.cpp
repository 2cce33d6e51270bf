// Recording the operands of the call that makes a pair hot: the interpreter's side of expected.h.
#include "kernels/pointwise/descriptor.h"
#include "kernels/pointwise/expected.h"
#include "kernels/pointwise/fast_call.h"

#include <algorithm>

namespace shunt::elementwise {
namespace {

namespace signature = ::shunt::detail::signature;

bool isPlain(const TensorImpl& t) { return signature::isPlainCpu(t.signature()); }

/// As in expected.cpp, where columns don't count: the first of the dense operands with the most dimensions and
/// elements.
const TensorImpl* shapeOf(const Request& request) {
  const TensorImpl* found = nullptr;
  for (int i = 0; i < request.op.num_inputs; ++i) {
    const TensorImpl* t = request.inputs[i].tensor;
    if (t == nullptr || !isPlain(*t)) continue;
    if (found == nullptr || t->dim() > found->dim() || (t->dim() == found->dim() && t->numel() > found->numel()))
      found = t;
  }
  return found;
}

uint8_t kindOf(const Argument& a, const TensorImpl* like, ScalarType common) {
  if (a.tensor == nullptr) return a.number != nullptr ? Record::kNumber : Record::kOther;
  const TensorImpl& t = *a.tensor;
  // A 0-dim tensor takes part in promotion by its category only, so it is expected only with the common dtype.
  if (t.dim() == 0) return t.device().is_cpu() && t.dtype() == common ? Record::kOneElement : Record::kOther;
  if (like == nullptr) return Record::kOther;
  if (isPlain(t) && (sameSizes(t, *like) || endsIn(*like, t))) return Record::kSameShape;
  if (isPlain(t)) return rowBesideColumn(*like, t) >= kLeastRow ? kColumn : uint8_t{Record::kOther};
  return t.numel() == 1 && t.device().is_cpu() && t.dim() <= like->dim() ? kOneOfSeveralDims : uint8_t{Record::kOther};
}

bool anyLayout(const TensorImpl& t) {
  const LayoutClass layout = signature::layoutOf(t.signature());
  return layout == LayoutClass::kInnerContiguous || layout == LayoutClass::kStrided;
}

uint8_t strideKind(int64_t stride, ScalarType dtype) {
  return stride == elementSize(dtype) ? kUnitStride : stride == 0 ? kZeroStride : kAnyStride;
}

/// Operands that no fast path takes, whatever their shapes: only their strides are expected.
void recordStrides(const Request& request, const Tensor* out, const Iteration& it, Record& record) {
  if (it.numel == 0 || (it.ndim > 1 && it.shape[0] < kLeastRow)) return;
  bool any = out != nullptr && anyLayout(*out->unsafeGetTensorImpl()), cpu = true;
  for (int i = 0; i < request.op.num_inputs; ++i) {
    const TensorImpl* t = request.inputs[i].tensor;
    any |= t != nullptr && anyLayout(*t);
    cpu &= t == nullptr || t->device().is_cpu();
  }
  if (!any || !cpu || it.dtypes[0] != request.op.loopOutput(record.common)) return;
  for (int i = 0; i < request.op.num_inputs; ++i)
    record.kind[i] = request.inputs[i].tensor == nullptr ? uint8_t{Record::kNumber}
                                                         : strideKind(it.strides[1 + i][0], it.dtypes[1 + i]);
  const uint8_t output = strideKind(it.strides[0][0], it.dtypes[0]);
  record.kind[kOutputKind] = output == kUnitStride ? kUnitStride : kAnyStride;
}

/// The library's entry for a form, and what a thunk puts in its place: for dense operands, and by strides.
template <int N>
void setEntry(Record::Form form, bool strided, Record::Places& places) {
  const auto set = [&](auto* entry, auto* dense, auto* by_strides) {
    places.entry = reinterpret_cast<const void*>(entry);
    places.expecting = reinterpret_cast<const void*>(strided ? by_strides : dense);
  };
  if (form == Record::kFunctional)
    set(&runFunctional, &functionalExpected<N>, &functionalStrided<N>);
  else if (form == Record::kOut)
    set(&runOutRequest, &outExpected<N>, &outStrided<N>);
  else
    set(&runInplaceRequest, &inplaceExpected<N>, &inplaceStrided<N>);
  places.miss = strided ? reinterpret_cast<const void*>(&executePlan) : places.entry;
}

GenericLoopFn genericLoopOf(const KernelDescriptor& op, ScalarType common) {
  const GenericLoopFn* loops = op.own_generic_loops;
  if (loops == nullptr && op.generic_shard != nullptr) loops = *op.generic_shard + op.row;
  if (loops == nullptr || common == ScalarType::Undefined) return nullptr;
  return loops[static_cast<size_t>(common)];
}

Record::Places placesOf(const KernelDescriptor& op, const Record& record) {
  Record::Places places;
  places.family = "elementwise";
  constexpr decltype(&setEntry<1>) kSetters[] = {setEntry<1>, setEntry<2>, setEntry<3>};
  kSetters[op.num_inputs - 1](record.form, std::ranges::any_of(record.kind, isStride), places);
  places.placeholder = reinterpret_cast<const void*>(&expectedLoop);
  places.loop = reinterpret_cast<const void*>(genericLoopOf(op, record.common));
  places.expected = &kExpected;
  places.independent = true;
  return places;
}

}  // namespace

const Record kExpected{};

// Other dtypes than the loop's own pass through the generic loop, which converts them one at a time: slower than the
// interpreter, which is why thunks of the first tier leave such operands to it (jit/emit/plan_constants.cpp).
bool expectedLoop(const View& out, const View* in, int64_t n, const ScalarSlot* scalars, ScalarType common,
                  const KernelDescriptor& op) {
  const std::byte* inputs[kMaxInputs];
  uint32_t repeated = 0;
  bool natural = true;
  for (int i = 0; i < op.num_inputs; ++i) {
    inputs[i] = in[i].p;
    repeated |= uint32_t{in[i].stride == 0} << i;
    natural &= in[i].dtype == op.loopInput(i, common);
  }
  if (natural) [[likely]]
    return op.loop(common)(out.p, inputs, repeated, n, scalars);
  return genericLoopOf(op, common)(out, in, n, scalars, common);
}

void recordOperands(const Request& request, Record::Form form, const Tensor* out, ScalarType common,
                    const Iteration* it) {
  Record& record = *::shunt::detail::tls_state.record;
  // A call inside the recorded one has its own frame.
  const int32_t depth = ::shunt::detail::threadFrames().depth();
  if (depth != record.depth) return ::shunt::detail::recordInnerLoop(depth);
  if (record.form != Record::kUnseen) return;
  record.form = form;
  record.functor = request.op.id;
  record.common = common;
  const TensorImpl* like = shapeOf(request);
  for (int i = 0; i < request.op.num_inputs; ++i) {
    record.kind[i] = kindOf(request.inputs[i], like, common);
    if (request.inputs[i].tensor != nullptr) record.signature[i] = request.inputs[i].tensor->signature();
  }
  // What a number makes of tensors of another dtype depends on the number's kind, which is not expected.
  for (int i = 0; i < request.op.num_inputs; ++i) {
    const TensorImpl* t = request.inputs[i].tensor;
    const bool other = t != nullptr && ((request.op.operands >> i) & 1) != 0 && t->dtype() != common;
    for (int k = 0; other && k < request.op.num_inputs; ++k)
      if (record.kind[k] == Record::kNumber || record.kind[k] == Record::kOneElement) record.kind[k] = Record::kOther;
  }
  if (out != nullptr && out->defined()) {
    const TensorImpl& given = *out->unsafeGetTensorImpl();
    record.output = given.signature();
    if (!isPlain(given) || given.dtype() != request.op.loopOutput(common)) record.kind[0] = Record::kOther;
  }
  if (it != nullptr) recordStrides(request, out, *it, record);
  record.places = placesOf(request.op, record);
}

}  // namespace shunt::elementwise
