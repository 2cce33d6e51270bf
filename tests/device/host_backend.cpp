#include "tests/device/host_backend.h"

#include <atomic>
#include <memory>

namespace shunt::test {
namespace {

struct Block {
  std::unique_ptr<std::byte[]> bytes;
};

class ToyAllocator : public Allocator {
 public:
  DataPtr allocate(size_t nbytes, Device) override {
    auto* block = new Block{std::make_unique<std::byte[]>(nbytes)};
    ++liveBlocks();
    return {block, block, [](void* ctx) {
              delete static_cast<Block*>(ctx);
              --liveBlocks();
            }};
  }
};

thread_local DeviceIndex current = 0;

class ToyGuard : public DeviceGuardImplInterface {
 public:
  DeviceType type() const override { return kPrivateUse1; }
  Device getDevice() const override { return Device(kPrivateUse1, current); }
  void setDevice(Device device) const override { current = device.index(); }
  void uncheckedSetDevice(Device device) const noexcept override { current = device.index(); }
  DeviceIndex deviceCount() const noexcept override { return 2; }
};

/// The tensor as one of the CPU's, over the memory behind the handle.
Tensor onHost(const Tensor& t) {
  if (t.is_cpu()) return t;
  std::byte* first = static_cast<Block*>(static_cast<void*>(t.storage()->data()))->bytes.get();
  return from_blob(first + t.storage_offset() * t.element_size(), t.sizes(), t.strides(), TensorOptions(t.dtype()));
}

Tensor toyEmpty(IntArrayRef size, std::optional<ScalarType> dtype, std::optional<Layout>, std::optional<Device> device,
                std::optional<bool>, std::optional<MemoryFormat>) {
  return Tensor(
      detail::makeTensor(size, {}, dtype.value_or(get_default_dtype()), device.value_or(Device(kPrivateUse1))));
}

Tensor toyEmptyStrided(IntArrayRef size, IntArrayRef stride, std::optional<ScalarType> dtype, std::optional<Layout>,
                       std::optional<Device> device, std::optional<bool>) {
  return Tensor(
      detail::makeTensor(size, stride, dtype.value_or(get_default_dtype()), device.value_or(Device(kPrivateUse1))));
}

Tensor& toyCopy(Tensor& self, const Tensor& src, bool) {
  onHost(self).copy_(onHost(src));
  return self;
}

Tensor toyMul(const Tensor& self, const Tensor& other) {
  ++mulCalls();
  return onHost(self).mul(onHost(other)).to(TensorOptions(self.is_cpu() ? other.device() : self.device()));
}

}  // namespace

int& mulCalls() {
  static int calls = 0;
  return calls;
}

int& liveBlocks() {
  static int blocks = 0;
  return blocks;
}

void useHostBackend(bool with_fallback) {
  static ToyAllocator allocator;
  static const ToyGuard guard;
  static auto* const kernels = new Library(Library::Kind::kImpl, "aten", DispatchKey::PrivateUse1);
  static auto* const fallback = new Library(Library::Kind::kImpl, "_", DispatchKey::PrivateUse1);
  static bool kernels_done = false, fallback_done = false;
  if (!std::exchange(kernels_done, true)) {
    rename_privateuse1_backend("opencl");
    registerAllocator(kPrivateUse1, &allocator);
    registerDeviceGuard(kPrivateUse1, &guard);
    kernels->impl("empty.memory_format", &toyEmpty)
        .impl("empty_strided", &toyEmptyStrided)
        .impl("copy_", &toyCopy)
        .impl("mul.Tensor", &toyMul);
  }
  if (with_fallback && !std::exchange(fallback_done, true))
    fallback->fallback(CppFunction::makeFromBoxedFunction<&cpu_fallback>());
}

Tensor counted(IntArrayRef sizes, ScalarType dtype) {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  return arange(n, TensorOptions(dtype)).view(sizes).to(TensorOptions(kToy));
}

}  // namespace shunt::test
