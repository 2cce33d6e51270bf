// The device itself: which one is current, its memory, and making tensors in it.
#include "device.h"

#include "runtime.h"

namespace opencl {
namespace {

using namespace shunt;

thread_local DeviceIndex current_device = 0;

class Guard : public DeviceGuardImplInterface {
 public:
  DeviceType type() const override { return kPrivateUse1; }
  Device getDevice() const override { return Device(kPrivateUse1, current_device); }
  void setDevice(Device device) const override { current_device = ensure_has_index(device).index(); }
  void uncheckedSetDevice(Device device) const noexcept override { current_device = device.index(); }
  DeviceIndex deviceCount() const noexcept override { return Runtime::get().deviceCount(); }
  void synchronizeDevice(DeviceIndex index) const override {
    check(clFinish(Runtime::get().queue(Device(kPrivateUse1, index))), "clFinish");
  }
};

class BufferAllocator : public Allocator {
 public:
  DataPtr allocate(size_t nbytes, Device) override {
    if (nbytes == 0) return {};
    cl_int status = CL_SUCCESS;
    cl_mem buffer = clCreateBuffer(Runtime::get().context(), CL_MEM_READ_WRITE, nbytes, nullptr, &status);
    SHUNT_CHECK(status == CL_SUCCESS, "opencl: can't allocate ", nbytes, " bytes on the device (status ", status, ")");
    // OpenCL keeps the memory until the kernels that were queued with it are done.
    return {buffer, buffer, [](void* handle) { clReleaseMemObject(static_cast<cl_mem>(handle)); }};
  }
};

Tensor empty(IntArrayRef size, std::optional<ScalarType> dtype, std::optional<Layout>, std::optional<Device> device,
             std::optional<bool>, std::optional<MemoryFormat> format) {
  SHUNT_CHECK(format.value_or(MemoryFormat::Contiguous) == MemoryFormat::Contiguous,
              "empty(): the opencl backend makes contiguous tensors only, got ", *format);
  return Tensor(
      shunt::detail::makeTensor(size, {}, dtype.value_or(get_default_dtype()), device.value_or(Device(kPrivateUse1))));
}

Tensor emptyStrided(IntArrayRef size, IntArrayRef stride, std::optional<ScalarType> dtype, std::optional<Layout>,
                    std::optional<Device> device, std::optional<bool>) {
  return Tensor(shunt::detail::makeTensor(size, stride, dtype.value_or(get_default_dtype()),
                                          device.value_or(Device(kPrivateUse1))));
}

}  // namespace

SHUNT_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", &empty);
  m.impl("empty_strided", &emptyStrided);
}

void registerDevice() {
  Runtime::get();
  rename_privateuse1_backend("opencl");
  static BufferAllocator allocator;
  registerAllocator(kPrivateUse1, &allocator);
  static const Guard guard;
  registerDeviceGuard(kPrivateUse1, &guard);
}

}  // namespace opencl
