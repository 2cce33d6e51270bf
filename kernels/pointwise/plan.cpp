#include "kernels/pointwise/plan.h"

#include "kernels/common/copy.h"
#include "kernels/common/overlap.h"
#include "kernels/pointwise/promote.h"
#include "kernels/pointwise/run.h"
#include "kernels/pointwise/stream.h"

#include <shunt/core/annotate.h>

namespace shunt::elementwise {

Plan::Plan(const Request& request, OutputKind kind, Tensor& out) : request_(request), kind_(kind), out_(out) {
  checkDefined();
  if (outputGiven()) {
    const TensorImpl& written = *out.unsafeGetTensorImpl();
    assertNoInternalOverlap(request.name, written, request.op.overlap);
    for (int i = 0; i < request.op.num_inputs; ++i)
      if (const TensorImpl* t = request.inputs[i].tensor) assertNoPartialOverlap(request.name, written, *t);
  }
  resolveDevice();
  resolveShape();
  resolveTypes();
  storeScalars();
  resolveInputStrides();
  resolveOrder();
  makeOutput();
  for (int i = 0; i < request.op.num_inputs; ++i) {
    const TensorImpl* t = request.inputs[i].tensor;
    if (t != nullptr && copied_[i]) setStrides(1 + i, t->sizes(), t->strides(), t->itemsize());
  }
  buildIteration();
}

void Plan::checkDefined() const {
  for (int i = 0; i < request_.op.num_inputs; ++i) {
    const Argument& a = request_.inputs[i];
    SHUNT_CHECK(a.tensor != nullptr || a.number != nullptr, request_.name, "(): argument '", request_.op.arguments[i],
                "' (position ", i + 1, ") is an undefined tensor; expected one with data");
  }
  SHUNT_CHECK(!outputGiven() || out_.defined(), request_.name,
              "(): the output is an undefined tensor; expected one to write to");
}

void Plan::resolveDevice() {
  // A 0-dim CPU tensor goes along with any device; the first other tensor decides.
  bool decided = false;
  if (outputGiven()) device_ = out_.device(), decided = true;
  for (int i = 0; i < request_.op.num_inputs; ++i) {
    const TensorImpl* t = request_.inputs[i].tensor;
    if (t == nullptr || (t->device().is_cpu() && t->dim() == 0)) continue;
    if (!decided) device_ = t->device(), decided = true;
    SHUNT_CHECK(t->device() == device_,
                "Expected all tensors to be on the same device, but found at least two devices, ", device_, " and ",
                t->device(), "! (when checking argument '", request_.op.arguments[i], "' of ", request_.name, ")");
  }
  SHUNT_CHECK(device_.is_cpu() || device_.is_meta(), request_.name, "(): no elementwise kernel for device ", device_);
}

void Plan::resolveShape() {
  for (int i = 0; i < request_.op.num_inputs; ++i) {
    const TensorImpl* t = request_.inputs[i].tensor;
    broadcast(t != nullptr ? t->sizes() : IntArrayRef());
  }
  if (!outputGiven() || out_.sizes() == shape()) return;
  bool read = kind_ == OutputKind::kInplace;
  for (int i = 0; i < request_.op.num_inputs; ++i) read |= request_.inputs[i].tensor == out_.unsafeGetTensorImpl();
  SHUNT_CHECK(!read, request_.name, "(): output with shape ", out_.sizes(), " doesn't match the broadcast shape ",
              shape());
  will_resize_ = true;
  int64_t numel = 1;
  for (const int64_t size : shape()) numel *= size;
  for (int i = 0; i < request_.op.num_inputs; ++i)
    if (const TensorImpl* t = request_.inputs[i].tensor)
      assertGrowsApart(request_.name, *out_.unsafeGetTensorImpl(), numel, *t);
}

void Plan::broadcast(IntArrayRef sizes) {
  const int n = static_cast<int>(sizes.size());
  SHUNT_CHECK(n <= kMaxDims, request_.name, "(): tensors of more than ", kMaxDims,
              " dimensions are not supported, got ", n);
  if (ndim_ < 0) {
    ndim_ = n;
    std::copy(sizes.begin(), sizes.end(), shape_);
    return;
  }
  if (sizes == shape()) return;
  same_shapes_ = false;
  const IntArrayRef before = shape();
  int64_t merged[kMaxDims];
  const int dims = std::max(n, ndim_);
  for (int k = 1; k <= dims; ++k) {  // from the last dimension
    const int64_t a = k <= ndim_ ? before[ndim_ - k] : 1, b = k <= n ? sizes[n - k] : 1;
    SHUNT_CHECK(a == b || a == 1 || b == 1, request_.name, "(): The size of tensor a (", a,
                ") must match the size of tensor b (", b, ") at non-singleton dimension ", dims - k, " (shapes ",
                before, " and ", sizes, ")");
    merged[dims - k] = a == 1 ? b : a;
  }
  std::copy_n(merged, dims, shape_);
  ndim_ = dims;
}

void Plan::resolveTypes() {
  const KernelDescriptor& op = request_.op;
  for (int i = 0; i < op.num_inputs; ++i) {
    dtypes_[1 + i] = dtypeOf(request_.inputs[i]);
    const bool mask = ((op.masks >> i) & 1) != 0;
    SHUNT_CHECK(!mask || dtypes_[1 + i] == kBool || dtypes_[1 + i] == kByte, request_.name, "(): expected ",
                op.arguments[i], " to be a boolean tensor, but got a tensor with dtype ", dtypes_[1 + i]);
  }
  common_ = commonDtype(request_);
  // The loop of a copy would only move what a cast has made already.
  if (op.is_copy && outputGiven() && request_.common == ScalarType::Undefined) common_ = out_.scalar_type();
  runCheck(request_, dtypes_ + 1, common_);
  if ((op.types & dtypeBit(common_)) == 0) ::shunt::detail::throwNotImplementedFor(request_.name, common_);
  loop_ = op.loop(common_);
  result_ = op.loopOutput(common_);
  dtypes_[0] = outputGiven() ? out_.scalar_type() : result_;
  SHUNT_CHECK(op.any_cast || op.bool_output || canCast(result_, dtypes_[0]), request_.name, "(): result type ", result_,
              " can't be cast to the desired output type ", dtypes_[0]);
  const bool exact = op.same_output && (op.num_inputs == 1 || hasNumber(request_));
  SHUNT_CHECK(!exact || dtypes_[0] == result_, request_.name, "(): Found dtype ", dtypes_[0], " but expected ",
              result_);
}

void Plan::storeScalars() {
  for (int s = 0; s < request_.op.num_scalars; ++s) storeScalar(*request_.scalars[s], common_, scalars_[s]);
  for (int i = 0; i < request_.op.num_inputs; ++i) {
    if (request_.inputs[i].number == nullptr) continue;
    dtypes_[1 + i] = request_.op.loopInput(i, common_);
    storeNumber(*request_.inputs[i].number, dtypes_[1 + i], numbers_[i]);
  }
}

void Plan::setStrides(int operand, IntArrayRef sizes, IntArrayRef strides, int64_t itemsize) {
  const int offset = ndim_ - static_cast<int>(sizes.size());
  for (int d = 0; d < ndim_; ++d) {
    const bool repeated = d < offset || (sizes[d - offset] == 1 && shape_[d] != 1);
    strides_[operand][d] = repeated ? 0 : strides[d - offset] * itemsize;
  }
}

void Plan::resolveInputStrides() {
  for (int i = 0; i < request_.op.num_inputs; ++i) {
    const TensorImpl* t = request_.inputs[i].tensor;
    if (t == nullptr) {
      std::fill_n(strides_[1 + i], ndim_, 0);
      continue;
    }
    // A cast operand counts with the layout that a cast copy of it would have.
    const bool copied = dtypes_[1 + i] != request_.op.loopInput(i, common_) && !t->is_non_overlapping_and_dense();
    if (copied) native::denseStridesLike(t->sizes(), t->strides(), copied_strides_[i]);
    copied_[i] = copied;
    setStrides(1 + i, t->sizes(), layoutOf(i), t->itemsize());
  }
  if (outputGiven() && !will_resize_) setStrides(0, out_.sizes(), out_.strides(), out_.itemsize());
}

/// Positive when dimension a lies outside b in memory. Operands are asked in order; one that repeats either abstains.
int Plan::compareDims(int a, int b) const {
  for (int i = outputGiven() && !will_resize_ ? 0 : 1; i < numOperands(); ++i) {
    const int k = i == 0 ? 0 : 1 + request_.op.layout_order[i - 1];
    const int64_t sa = strides_[k][a], sb = strides_[k][b];
    if (sa == 0 || sb == 0) continue;
    if (sa != sb) return sa < sb ? -1 : 1;
    if (shape_[a] > shape_[b]) return 1;
  }
  return 0;
}

/// Insertion sort that copes with dimensions whose order nobody knows: those keep theirs, last dimension fastest.
void Plan::resolveOrder() {
  for (int d = 0; d < ndim_; ++d) perm_[d] = ndim_ - 1 - d;
  for (int i = 1; i < ndim_; ++i) {
    int moving = i;
    for (int j = i - 1; j >= 0; --j) {
      const int order = compareDims(perm_[j], perm_[moving]);
      if (order < 0) break;
      if (order == 0) continue;
      std::swap(perm_[j], perm_[moving]);
      moving = j;
    }
  }
}

SHUNT_ANNOTATE("runtime")
bool Plan::outputIsApart() const {
  if (!outputGiven()) return true;
  const TensorImpl* out = out_.unsafeGetTensorImpl();
  for (int i = 0; i < request_.op.num_inputs; ++i)
    if (const TensorImpl* t = request_.inputs[i].tensor; t != nullptr && t != out && !areDisjoint(*t, *out))
      return false;
  return true;
}

bool Plan::streamsOutput() const {
  const int64_t size = elementSize(dtypes_[0]);
  if (iteration_.numel * size < streamedBytes() || iteration_.strides[0][0] != size) return false;
  for (int i = 0; i < request_.op.num_inputs; ++i)
    if (request_.inputs[i].tensor != nullptr && request_.inputs[i].tensor->storage() == out_.storage()) return false;
  return isWorthStreaming(iteration_.data[0], iteration_.numel * size);
}

void Plan::execute() {
  if (device_.is_meta()) return;
  const KernelDescriptor& op = request_.op;
  // A given output must stay as it was when an element is invalid.
  bool valid = true;
  if (op.invalid != nullptr && outputGiven()) valid = shunt::elementwise::execute(iteration_, false);
  iteration_.streamed = streamsOutput();
  path_counters.streamed += iteration_.streamed;
  if (valid) valid = shunt::elementwise::execute(iteration_);
  if (!valid) [[unlikely]]
    throwInvalidElement(request_);
}

void throwInvalidElement(const Request& request) {
  std::string operands;
  for (int i = 0; i < request.op.num_inputs; ++i) {
    const Argument& a = request.inputs[i];
    operands += ::shunt::detail::str(i == 0 ? "" : ", ", request.op.arguments[i], " ");
    operands += a.tensor != nullptr ? ::shunt::detail::str(a.tensor->dtype(), " ", a.tensor->sizes())
                                    : ::shunt::detail::str(*a.number);
  }
  throw Error(::shunt::detail::str(request.op.invalid, ": ", request.name, "() of ", operands));
}

}  // namespace shunt::elementwise
