// A device of this process's own memory, as an outside backend would bring one: PrivateUse1 with three kernels; all
// other operators run in the CPU fallback.
#pragma once

#include <shunt/backend.h>
#include <shunt/shunt.h>

#include <cstdlib>

namespace shunt::host_device {

struct HostAllocator : Allocator {
  DataPtr allocate(size_t nbytes, Device) override {
    void* data = std::aligned_alloc(64, nbytes / 64 * 64 + 64);
    SHUNT_CHECK(data != nullptr, "no memory for ", nbytes, " bytes");
    return {data, data, &std::free};
  }
};

inline Tensor emptyStrided(IntArrayRef sizes, IntArrayRef strides, std::optional<ScalarType> dtype,
                           std::optional<Layout>, std::optional<Device> device, std::optional<bool>) {
  return Tensor(detail::makeTensor(sizes, strides, dtype.value_or(get_default_dtype()), *device));
}

inline Tensor emptyFormat(IntArrayRef sizes, std::optional<ScalarType> dtype, std::optional<Layout>,
                          std::optional<Device> device, std::optional<bool>, std::optional<MemoryFormat>) {
  return Tensor(detail::makeTensor(sizes, {}, dtype.value_or(get_default_dtype()), *device));
}

/// The same memory, seen from the CPU.
inline Tensor onCpu(const Tensor& t) {
  return t.is_cpu() ? t.detach() : from_blob(t.data_ptr(), t.sizes(), t.strides(), TensorOptions(t.dtype()));
}

inline Tensor& copyFrom(Tensor& self, const Tensor& src, bool) {
  onCpu(self).copy_(onCpu(src));
  return self;
}

/// The device exists while this lives; its allocator for good.
struct HostDevice {
  HostDevice()
      : kernels(Library::Kind::kImpl, "aten", DispatchKey::PrivateUse1),
        fallback(Library::Kind::kImpl, "_", DispatchKey::PrivateUse1) {
    static HostAllocator allocator;
    registerAllocator(DeviceType::PrivateUse1, &allocator);
    kernels.impl("empty.memory_format", &emptyFormat);
    kernels.impl("empty_strided", &emptyStrided);
    kernels.impl("copy_", &copyFrom);
    fallback.fallback(CppFunction::makeFromBoxedFunction<&cpu_fallback>());
  }
  Library kernels, fallback;
};

}  // namespace shunt::host_device
