#include "src/transforms/fake/twins.h"

#include <shunt/autograd/autograd_meta.h>
#include <shunt/core/stack_tensors.h>
#include <shunt/transforms/fake_tensor.h>

#include "src/transforms/fake/fake_impl.h"

#include <cstring>

namespace shunt::fake {
namespace {

// A number that the library itself made a tensor of.
bool isNumber(const Tensor& t) { return t.unsafeGetTensorImpl()->is_wrapped_number(); }

bool isCpuScalar(const Tensor& t) { return t.dim() == 0 && t.is_cpu(); }

// As the backends' kernels do; Meta's take any.
void checkGenerator(const Generator& given, Device device) {
  SHUNT_CHECK(!given.defined() || device.is_meta() || given.device().type() == device.type(), "Expected a '",
              device.type(), "' device type for generator but found '", given.device(), "'");
}

}  // namespace

void checkAllFake(const FunctionSchema& schema, const Stack& stack) {
  const auto& arguments = schema.arguments();
  const size_t first = stack.size() - arguments.size();
  for (size_t i = 0; i < arguments.size(); ++i)
    forEachTensor(stack[first + i], [&](const Tensor& t) {
      SHUNT_CHECK(is_fake(t) || isNumber(t), "operator ", schema.operator_name(), ": argument '", arguments[i].name,
                  "' (position ", i + 1, "): expected a fake tensor, ",
                  FakeTensorMode::is_enabled() ? "since a FakeTensorMode is active" : "as other arguments are",
                  ", got a real one, ", t.dtype(), t.sizes(), " on ", t.device(),
                  ". Convert it with FakeTensorMode::from_tensor(t) or to_fake(t)");
    });
}

Twins::Twins(const FunctionSchema& schema, Stack& stack) {
  const auto& arguments = schema.arguments();
  const size_t first = stack.size() - arguments.size();
  bool any = false, decided = false;
  std::optional<Device> other;
  for (size_t i = 0; i < arguments.size(); ++i)
    forEachTensor(stack[first + i], [&](const Tensor& t) {
      any = true;
      if (!t.is_cpu()) other = t.device();
      if (!decided && !isCpuScalar(t)) result_device_ = t.device(), decided = true;
    });
  mixed_devices_ = other.has_value();
  for (size_t i = 0; i < arguments.size(); ++i) {
    IValue& value = stack[first + i];
    if (value.isDevice() || (value.isNone() && !any && arguments[i].type.kind == TypeKind::Device)) {
      // A factory that isn't told makes tensors on the CPU.
      result_device_ = normalized(value.isDevice() ? value.toDevice() : Device(kCPU));
      value = IValue(twinOf(result_device_));
    } else {
      // A twin of a CPU number that goes along with tensors of any device is one, unless it is written.
      const bool may_be_number = mixed_devices_ && !arguments[i].is_write();
      value = mapTensors(value, [&](const Tensor& t) {
        if (may_be_number && isCpuScalar(t)) {
          const Tensor number(detail::makeCpuTensor({}, {}, t.dtype()));
          std::memset(number.unsafeGetTensorImpl()->data(), 0, static_cast<size_t>(number.itemsize()));
          number.unsafeGetTensorImpl()->set_wrapped_number(isNumber(t));
          tensors_.push_back({t, number});
          return number;
        }
        return twinOf(t);
      });
    }
  }
  for (size_t i = first; i < stack.size(); ++i)
    if (stack[i].isGenerator()) checkGenerator(stack[i].toGenerator(), result_device_);
}

Tensor Twins::twinOf(const Tensor& t) {
  for (const OfTensor& known : tensors_)
    if (known.fake.is_same(t)) return known.twin;
  tensors_.push_back({t, makeTwin(t)});
  return tensors_.back().twin;
}

Tensor Twins::makeTwin(const Tensor& t) {
  const TensorImpl& impl = *t.unsafeGetTensorImpl();
  const DispatchKeySet keys = withViewKey(keySetFor(kMeta), !impl.is_inference());
  auto twin = make_intrusive<TensorImpl>(twinOf(impl.storage(), is_fake(t)), keys, impl.dtype());
  twin->set_sizes_and_strides(impl.sizes(), impl.strides(), impl.storage_offset());
  twin->set_wrapped_number(impl.is_wrapped_number());
  const Tensor result(std::move(twin));
  if (t.requires_grad())
    autograd::materialize_autograd_meta(result)->requires_grad_ = true;  // some kernels refuse such tensors
  return result;
}

Storage Twins::twinOf(const Storage& storage, bool is_fake) {
  for (const OfStorage& known : storages_)
    if (known.fake == storage) return known.twin;
  const Storage fake = is_fake ? storage : makeStorage(storage->nbytes(), storage->device());  // of a number
  const Device device = twinOf(storage->device());
  storages_.push_back(
      {fake, make_intrusive<StorageImpl>(DataPtr{}, storage->nbytes(), device, nullptr, storage->resizable())});
  return storages_.back().twin;
}

Storage Twins::fakeOf(const Storage& twin) {
  for (const OfStorage& known : storages_)
    if (known.twin == twin) return known.fake;
  storages_.push_back({makeStorage(twin->nbytes(), fakeOf(twin->device())), twin});
  return storages_.back().fake;
}

Tensor Twins::fakeOf(const Tensor& twin) {
  for (const OfTensor& known : tensors_)
    if (known.twin.is_same(twin)) return known.fake;
  tensors_.push_back({makeTensor(fakeOf(twin.storage()), *twin.unsafeGetTensorImpl()), twin});
  return tensors_.back().fake;
}

Device Twins::twinOf(Device device) {
  size_t i = 0;
  while (i < devices_.size() && !(devices_[i] == device)) ++i;
  if (i == devices_.size()) devices_.push_back(device);
  return Device(kMeta, static_cast<DeviceIndex>(i));
}

Device Twins::fakeOf(Device twin) const {
  return twin.has_index() ? devices_.at(static_cast<size_t>(twin.index())) : result_device_;
}

void Twins::replaceReturns(Stack& stack, size_t returns) {
  const size_t arguments = tensors_.size();
  mapTensors(stack, returns, [this](const Tensor& twin) { return fakeOf(twin); });
  for (size_t i = 0; i < arguments; ++i) {
    TensorImpl& fake = *tensors_[i].fake.unsafeGetTensorImpl();
    const TensorImpl& twin = *tensors_[i].twin.unsafeGetTensorImpl();
    if (twin.device().is_cpu() || !is_fake(tensors_[i].fake)) continue;
    if (!twin.sizes().equals(fake.sizes()) || !twin.strides().equals(fake.strides()) ||
        twin.storage_offset() != fake.storage_offset())
      fake.set_sizes_and_strides(twin.sizes(), twin.strides(), twin.storage_offset());
  }
  for (const OfStorage& known : storages_) resizeStorage(*known.fake, known.twin->nbytes());
}

std::string Twins::withFakeDevices(std::string message) const {
  const auto replace = [&](const std::string& twin, const std::string& name) {
    for (size_t at = 0; (at = message.find(twin, at)) != std::string::npos; at += name.size())
      message.replace(at, twin.size(), name);
  };
  for (size_t i = devices_.size(); i-- > 0;) replace("meta:" + std::to_string(i), devices_[i].str());
  // A device's type, and its backend's name as part of a wrapper's.
  replace("(meta ", detail::str('(', result_device_.type(), ' '));
  replace("_Meta_",
          detail::str('_', toString(toRuntimeKey(Functionality::Dense, backendOf(result_device_.type()))), '_'));
  return message;
}

}  // namespace shunt::fake
