#include <shunt/device/cpu_fallback.h>

#include "src/base/mutex.h"
#include "src/dispatch/errors.h"

#include <shunt/core/dispatcher.h>
#include <shunt/core/fork.h>
#include <shunt/core/log.h>
#include <shunt/core/stack_tensors.h>
#include <shunt/ops.h>
#include <shunt/tensor/device_guard.h>

#include <algorithm>
#include <set>

namespace shunt {
namespace {

// ---- the operators that were here ----------------------------------------------------------------------------------
struct Named {
  Mutex mutex;
  std::set<OperatorName> operators SHUNT_GUARDED_BY(mutex);
  Named();
};
Named& named() {
  static Named* const all = new Named;
  return *all;
}
Named::Named() {
  detail::holdAcrossFork(
      3, []() SHUNT_TSA(no_thread_safety_analysis) { named().mutex.lock(); },
      []() SHUNT_TSA(no_thread_safety_analysis) { named().mutex.unlock(); });
}
[[maybe_unused]] const Named& made_at_load = named();

void nameOnce(const OperatorHandle& op, Device device) {
  {
    MutexLock lock(named().mutex);
    if (!named().operators.insert(op.operator_name()).second) return;
  }
  const BackendComponent backend = backendOf(device.type());
  detail::logWarning(detail::str("the operator ", op.operator_name(), " runs on the CPU for tensors on ", device,
                                 ", with copies there and back: no kernel for the key ",
                                 toString(toRuntimeKey(Functionality::Dense, backend)), " serves the call"));
}

// ---- what can't run ------------------------------------------------------------------------------------------------
std::string registerOne(const OperatorHandle& op, Device device) {
  const std::string_view name = op.op().name();
  return detail::str(
      "Register a kernel with SHUNT_LIBRARY_IMPL(", op.operator_name().getNamespace().value_or("<namespace>"), ", ",
      toRuntimeKey(Functionality::Dense, backendOf(device.type())), ", m) { m.impl(\"",
      name.substr(name.rfind(':') + 1), op.op().overload().empty() ? "" : ".", op.op().overload(), "\", ...); }");
}

void checkCanFallBack(const OperatorHandle& op, Device device) {
  for (const Operator* made_of : {&ops::empty_memory_format::symbol, &ops::empty_strided::symbol, &ops::copy_::symbol})
    if (&op.op() == made_of)
      throw NotImplementedError(
          detail::str("the operator ", op.operator_name(), " can't fall back to the CPU for device ", device,
                      ": the fallback itself makes and copies tensors with it. ", registerOne(op, device)));
  for (const Argument& ret : op.schema().returns()) {
    if (!ret.alias || ret.alias->is_write) continue;
    throw NotImplementedError(detail::str("the operator ", op.operator_name(),
                                          " returns a view, and can't fall back to the CPU for device ", device,
                                          ": the view would be one of a copy. ", registerOne(op, device),
                                          " that makes it of the argument's storage, as as_strided does"));
  }
  const auto has = [&](DispatchKey key) { return op.hasKernelForDispatchKey(key); };
  if (!has(DispatchKey::CPU) && !has(DispatchKey::CompositeExplicitAutograd) &&
      !has(DispatchKey::CompositeImplicitAutograd))
    throw NotImplementedError(
        detail::str("the operator ", op.operator_name(), " can't fall back to the CPU for device ", device,
                    ": it has no kernel for the CPU. ", registerOne(op, device), ", or for the key CPU"));
}

// ---- one call ------------------------------------------------------------------------------------------------------
/// A tensor of the device and what stands for it on the CPU.
struct Moved {
  Tensor device, cpu;
  bool written = false;
  int64_t offset_on_device = 0;  // of the CPU tensor's offset 0
};

/// All bytes of a storage, as a tensor.
Tensor bytesOf(const Storage& storage) {
  auto impl = make_intrusive<TensorImpl>(storage, keySetFor(storage->device()), kByte);
  impl->set_sizes_contiguous(static_cast<int64_t>(storage->nbytes()));
  return Tensor(std::move(impl));
}

class CpuCall {
 public:
  CpuCall(const OperatorHandle& op, Stack& stack) : schema_(op.schema()), stack_(stack) {
    const size_t n = schema_.arguments().size();
    SHUNT_CHECK(stack_.size() >= n, "cpu_fallback: ", op.operator_name(), " takes ", n,
                " arguments, and the stack holds ", stack_.size());
    findTensors();
    if (std::string mixed = mixedDevices(op, stack_); !mixed.empty())
      throw Error(detail::str(op.operator_name(), ": ", mixed));
  }

  /// The device that has no kernel for the call; the CPU when nothing of the call is anywhere else.
  Device device() const { return device_; }

  void moveArguments() {
    for (Moved& m : moved_) moveToCpu(m);
    const size_t n = schema_.arguments().size();
    mapTensors(stack_, n, [this](const Tensor& t) { return isOfDevice(t) ? find(t).cpu : t; });
    for (size_t i = 0; i < n; ++i)
      if (IValue& v = peek(stack_, i, n); v.isDevice()) v = Device(kCPU);
  }

  void copyBack() {
    for (const Moved& m : moved_)
      if (m.written) writeBack(m);
  }

  void moveReturns() {
    mapTensors(stack_, std::min(stack_.size(), schema_.returns().size()), [this](const Tensor& t) {
      for (const Moved& m : moved_)
        if (m.cpu.is_same(t)) return m.written || goesTo(m.device.device()) ? m.device : t.to(TensorOptions(*named_));
      return t.is_cpu() && !wasGiven(t) ? t.to(TensorOptions(named_.value_or(device_))) : t;
    });
  }

 private:
  static bool isOfDevice(const Tensor& t) { return !t.is_cpu(); }

  /// Whether a result that is on `device` is where it has to be.
  bool goesTo(Device device) const { return !named_ || ensure_has_index(*named_) == device; }

  Moved& find(const Tensor& t) {
    return *std::find_if(moved_.begin(), moved_.end(), [&](const Moved& m) { return m.device.is_same(t); });
  }
  bool wasGiven(const Tensor& t) const {
    return std::any_of(on_cpu_.begin(), on_cpu_.end(), [&](const Tensor& given) { return given.is_same(t); });
  }

  void findTensors() {
    const size_t n = schema_.arguments().size();
    for (size_t i = 0; i < n; ++i) {
      const IValue& v = peek(stack_, i, n);
      if (v.isDevice()) named_ = v.toDevice();
    }
    if (named_) device_ = *named_;
    for (size_t i = 0; i < n; ++i)
      forEachTensor(peek(stack_, i, n), [&](const Tensor& t) {
        if (!isOfDevice(t)) return on_cpu_.push_back(t);
        if (device_.is_cpu()) device_ = t.device();
        const auto known =
            std::find_if(moved_.begin(), moved_.end(), [&](const Moved& m) { return m.device.is_same(t); });
        Moved& m = known != moved_.end() ? *known : moved_.emplace_back(Moved{t, {}, false, 0});
        m.written |= schema_.arguments()[i].is_write();
      });
  }

  /// Whether others among the arguments share its storage, and some of them is written.
  bool mayOverlap(const Moved& m) const {
    int sharing = 0;
    bool written = false;
    for (const Moved& other : moved_) {
      if (!other.device.is_alias_of(m.device)) continue;
      ++sharing;
      written |= other.written;
    }
    return sharing > 1 && written;
  }

  // A dense tensor alone keeps its strides in a copy. What may overlap, or has gaps that an operator's checks look at,
  // is a view of its whole storage's copy.
  void moveToCpu(Moved& m) {
    const TensorImpl& from = *m.device.unsafeGetTensorImpl();
    if (!mayOverlap(m) && (!m.written || from.is_non_overlapping_and_dense())) {
      m.cpu = m.device.to(TensorOptions(kCPU));
      m.offset_on_device = from.storage_offset();
    } else {
      auto impl = make_intrusive<TensorImpl>(copyOf(from.storage()), keySetFor(kCPU), from.dtype());
      impl->set_sizes_and_strides(from.sizes(), from.strides(), from.storage_offset());
      m.cpu = Tensor(std::move(impl));
    }
    m.cpu.unsafeGetTensorImpl()->set_wrapped_number(from.is_wrapped_number());
  }

  Storage copyOf(const Storage& storage) {
    for (const auto& [on_device, on_cpu] : storages_)
      if (on_device == storage) return on_cpu;
    return storages_.emplace_back(storage, bytesOf(storage).to(TensorOptions(kCPU)).storage()).second;
  }

  // The operator may have resized it, or changed how it lies in its storage.
  static void writeBack(const Moved& m) {
    TensorImpl& to = *m.device.unsafeGetTensorImpl();
    const TensorImpl& from = *m.cpu.unsafeGetTensorImpl();
    const int64_t offset = from.storage_offset() + m.offset_on_device;
    if (to.sizes() != from.sizes() || to.strides() != from.strides() || to.storage_offset() != offset) {
      const int64_t end = offset * from.itemsize() +
                          detail::storageBytes("cpu_fallback", from.sizes(), from.strides(), from.itemsize());
      if (from.numel() != 0 && static_cast<size_t>(end) > to.storage()->nbytes())
        to.storage()->resize(static_cast<size_t>(end));
      to.set_sizes_and_strides(from.sizes(), from.strides(), offset);
    }
    Tensor handle = m.device;
    handle.copy_(m.cpu);
  }

  const FunctionSchema& schema_;
  Stack& stack_;
  Device device_ = kCPU;
  std::optional<Device> named_;  // by a Device argument, and where results go then, the CPU too
  std::vector<Moved> moved_;     // one for each tensor, however often it is an argument
  std::vector<Tensor> on_cpu_;
  std::vector<std::pair<Storage, Storage>> storages_;  // of the device, and their copies
};

}  // namespace

void cpu_fallback(const OperatorHandle& op, Stack* stack) {
  CpuCall call(op, *stack);
  checkCanFallBack(op, call.device());
  nameOnce(op, call.device());
  AutoDispatchBelowAutograd guard;
  call.moveArguments();
  op.redispatchBoxed(DispatchKeySet(DispatchKey::CPU), stack);
  call.copyBack();
  call.moveReturns();
}

std::vector<OperatorName> cpu_fallback_operators() {
  MutexLock lock(named().mutex);
  return {named().operators.begin(), named().operators.end()};
}

}  // namespace shunt
