#include "src/compile/program/region.h"

#include "src/autograd/unshared.h"
#include "src/compile/guards/keys_that_matter.h"
#include "src/compile/regions/pointwise_node.h"

#include <algorithm>

namespace shunt::compiled {

bool Region::fits(const TensorImpl* const* given) const {
  if (detail::trace_enabled.load(std::memory_order_relaxed)) return false;
  if (unchecked) return true;
  for (const uint16_t i : compared) {
    const Input& in = inputs[i];
    if (given[i] == nullptr || given[i]->signature() != in.signature || keysThatMatter(*given[i]) != in.keys ||
        !given[i]->sizes().equals(in.sizes) || (!in.strides.empty() && !given[i]->strides().equals(in.strides)))
      return false;
  }
  return written.empty() || writtenAreApart(given);
}

// Storages are looked up once: an optimizer's region writes most of its inputs. A buffer has none.
bool Region::writtenAreApart(const TensorImpl* const* given) const {
  const StorageImpl* storages[BlockLoop::kMaxPlaces];
  const size_t n = inputs.size();
  for (size_t i = 0; i < n; ++i) storages[i] = given[i] != nullptr ? given[i]->storage().get() : nullptr;
  for (const Written& w : written) {
    if (given[w.input]->is_inference()) return false;
    const StorageImpl* const mine = storages[w.input];
    size_t holders = 0;
    for (size_t i = 0; i < n; ++i) holders += storages[i] == mine;
    if (holders != 1) return false;
  }
  return true;
}

namespace {
void addToVersion(const TensorImpl& t, int64_t times) {
  for (int64_t i = 0; i < times; ++i) t.version().bump();
}
}  // namespace

/// Whether the tensor is as a new one would be, and nobody else has it or its memory.
bool Region::mayTake(const Tensor& t, const Output& out) const {
  if ((detail::tls_state.mode & detail::kModeInference) != 0) return false;  // a new one has other keys there
  static const DispatchKeySet kNew = detail::makeCpuTensor({1}, {}, kFloat)->key_set();
  const TensorImpl& impl = *t.unsafeGetTensorImpl();
  return autograd::isUnshared(t) && impl.key_set() == kNew && autograd::get_autograd_meta(t) == nullptr &&
         impl.version().current() == 0 && impl.storage_offset() == 0 && impl.strides().equals(strides) &&
         impl.storage()->nbytes() == static_cast<size_t>(loop.rows * loop.columns * elementSize(out.dtype)) &&
         !impl.is_wrapped_number();
}

/// Row-major, of the outputs' sizes, which are `shape_of`'s too.
Tensor Region::newOutput(const TensorImpl& shape_of, ScalarType dtype) {
  return Tensor(intrusive_ptr<TensorImpl>::reclaim(detail::newCpuTensorLike(shape_of, dtype)));
}

bool Region::run(Frame& frame) const {
  if (in_buffers && !frame.hasBuffers()) return false;
  const TensorImpl* given[BlockLoop::kMaxPlaces];
  size_t n = 0;
  for (const Input& in : inputs) given[n++] = in.isBuffer() ? nullptr : frame.at(in.source).unsafeGetTensorImpl();
  if (!fits(given)) return false;
  std::byte* operands[BlockLoop::kMaxPlaces];
  for (size_t i = 0; i < n; ++i)
    operands[i] = given[i] != nullptr ? given[i]->data() : frame.buffer(inputs[i].source.index);
  const TensorImpl& shape_of = like >= 0 ? *given[like] : *shape.unsafeGetTensorImpl();
  for (const Output& out : outputs) {
    if (out.buffer >= 0) {
      operands[n++] = frame.buffer(static_cast<uint32_t>(out.buffer));
      continue;
    }
    Tensor& t = frame.slot(out.slot);
    if (out.into >= 0) {
      t = frame.given(out.into);
      operands[n++] = t.unsafeGetTensorImpl()->data();
      continue;
    }
    Tensor* const dead = out.takes >= 0 ? &frame.slot(inputs[static_cast<size_t>(out.takes)].source.index) : nullptr;
    t = dead != nullptr && mayTake(*dead, out) ? std::move(*dead) : newOutput(shape_of, out.dtype);
    operands[n++] = t.unsafeGetTensorImpl()->data();
  }
  runLoop(operands);
  if (plain) return true;
  for (const Written& w : written) addToVersion(*given[w.input], w.times);
  for (const Output& out : outputs)
    if (out.times_written != 0) addToVersion(*frame.slot(out.slot).unsafeGetTensorImpl(), out.times_written);
  for (const uint32_t slot : last) frame.slot(slot).reset();
  return true;
}

detail::CompileOutputs Region::runAlone(std::span<const Tensor* const> given, std::span<const Tensor> constants) const {
  std::byte* operands[BlockLoop::kMaxPlaces];
  size_t n = 0;
  const TensorImpl* shape_of = shape.unsafeGetTensorImpl();
  for (const Input& in : inputs) {
    const bool is_given = in.source.kind == Source::Kind::kInput;
    const TensorImpl& impl = *(is_given ? *given[in.source.index] : constants[in.source.index]).unsafeGetTensorImpl();
    if (static_cast<int>(n) == like) shape_of = &impl;
    operands[n++] = impl.data();
  }
  detail::CompileOutputs out;
  out.reserve(outputs.size());
  for (const Output& o : outputs) {
    Tensor t = o.into >= 0 ? *given[static_cast<size_t>(o.into)] : newOutput(*shape_of, o.dtype);
    operands[n++] = out.emplace_back(std::move(t)).unsafeGetTensorImpl()->data();
  }
  runLoop(operands);
  return out;
}

PlanPart Region::description() const {
  PlanPart out;
  out.kind = rows != nullptr ? PlanPart::Kind::kRows : PlanPart::Kind::kRegion;
  out.sizes = sizes;
  out.inputs = inputs.size();
  out.outputs = outputs.size();
  out.bytes = bytes;
  for (const Output& o : outputs) {
    out.in_inputs_memory += o.takes >= 0 ? 1 : 0;
    out.without_tensors += o.buffer >= 0 ? 1 : 0;
  }
  if (rows != nullptr) {
    rows->describe(out);
  } else {
    out.buffers = loop.buffers;
    out.block = loop.block;
    out.code = native->describe();
  }
  return out;
}

}  // namespace shunt::compiled
