// Recording the operands of the call that makes a pair hot: the interpreter's side of expected.h.
#include "kernels/elementwise/expected.h"
#include "kernels/elementwise/fast_call.h"
#include "kernels/elementwise/op_info.h"

#include <shunt/jit/provider.h>

namespace shunt::elementwise {
namespace {

namespace signature = ::shunt::detail::signature;

bool isPlain(const TensorImpl& t) { return signature::isPlainCpu(t.signature()); }

/// As in expected.cpp: the first of the dense operands with the most dimensions.
const TensorImpl* shapeOf(const Request& request) {
  const TensorImpl* found = nullptr;
  for (int i = 0; i < request.op.num_inputs; ++i) {
    const TensorImpl* t = request.inputs[i].tensor;
    if (t != nullptr && isPlain(*t) && (found == nullptr || t->dim() > found->dim())) found = t;
  }
  return found;
}

uint8_t kindOf(const Argument& a, const TensorImpl* like, ScalarType common) {
  if (a.tensor == nullptr) return a.number != nullptr ? Record::kNumber : Record::kOther;
  const TensorImpl& t = *a.tensor;
  // A 0-dim tensor takes part in promotion by its category only, so it is expected only with the common dtype.
  if (t.dim() == 0) return t.device().is_cpu() && t.dtype() == common ? Record::kOneElement : Record::kOther;
  if (like == nullptr) return Record::kOther;
  if (isPlain(t)) return sameSizes(t, *like) || endsIn(*like, t) ? Record::kSameShape : Record::kOther;
  return t.numel() == 1 && t.device().is_cpu() && t.dim() <= like->dim() ? kOneOfSeveralDims : uint8_t{Record::kOther};
}

bool anyLayout(const TensorImpl& t) {
  const LayoutClass layout = signature::layoutOf(t.signature());
  return layout == LayoutClass::kInnerContiguous || layout == LayoutClass::kStrided;
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
  const ScalarType result = request.op.loopOutput(record.common);
  if (!any || !cpu || it.dtypes[0] != result || it.strides[0][0] != elementSize(result)) return;
  uint8_t kind[kMaxInputs] = {};
  for (int i = 0; i < request.op.num_inputs; ++i) {
    const int64_t stride = it.strides[1 + i][0];
    if (request.inputs[i].tensor == nullptr) kind[i] = Record::kNumber;
    else if (stride == 0) kind[i] = kZeroStride;
    else if (stride == elementSize(it.dtypes[1 + i])) kind[i] = kUnitStride;
    else return;
  }
  for (int i = 0; i < request.op.num_inputs; ++i) record.kind[i] = kind[i];
}

}  // namespace

const Record kExpected{};

bool expectedLoop(const View&, const View*, int64_t, const ScalarSlot*, ScalarType) {
  SHUNT_CHECK(false, "Shunt: an expected loop outside of a thunk; please report this as a bug");
}

void recordOperands(const Request& request, Record::Form form, const Tensor* out, ScalarType common, const Iteration* it) {
  Record& record = *::shunt::detail::tls_state.record;
  // A call inside the recorded one has its own frame.
  if (record.form != Record::kUnseen || ::shunt::detail::threadFrames().depth() != record.depth) return;
  record.form = form;
  record.op = &request.op;
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
}

}  // namespace shunt::elementwise

namespace shunt {

const void* jit::genericLoopOf(const detail::ElementwiseRecord& record) {
  if (record.op == nullptr || record.common == ScalarType::Undefined) return nullptr;
  const auto& op = *static_cast<const elementwise::OpInfo*>(record.op);
  const auto common = static_cast<size_t>(record.common);
  const elementwise::GenericLoopFn* loops = op.own_generic_loops;
  if (loops == nullptr && op.generic_family != nullptr) loops = *op.generic_family + op.row;
  return loops != nullptr ? reinterpret_cast<const void*>(loops[common]) : nullptr;
}

}  // namespace shunt
