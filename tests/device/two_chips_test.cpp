// Two backends of outside libraries in one process: PrivateUse1 is the device "npu", PrivateUse2 the device "dsp". Each
// has an allocator, a guard and kernels of its own, and PrivateUse3 stays free.
#include "tests/support/error_of.h"

#include <shunt/backend.h>
#include <shunt/shunt.h>

#include <gmock/gmock.h>

#include <cstdlib>

namespace shunt {
namespace {

using test::errorOf;
using ::testing::AllOf;
using ::testing::HasSubstr;

bool same(const Tensor& there, const Tensor& expected) { return there.cpu().eq(expected).all().item<bool>(); }

template <DeviceType kType>
class Chip final : public Allocator, public DeviceGuardImplInterface {
 public:
  static Chip& get() {
    static auto* const chip = new Chip;
    return *chip;
  }
  DataPtr allocate(size_t nbytes, Device) override {
    void* p = std::malloc(nbytes + 1);
    return {p, p, [](void* ctx) { std::free(ctx); }};
  }
  DeviceType type() const override { return kType; }
  Device getDevice() const override { return Device(kType, current); }
  void setDevice(Device device) const override { current = device.index(); }
  void uncheckedSetDevice(Device device) const noexcept override { current = device.index(); }
  DeviceIndex deviceCount() const noexcept override { return 2; }

  int products = 0;

 private:
  Chip() : kernels_(Library::Kind::kImpl, "aten", key()), fallback_(Library::Kind::kImpl, "_", key()) {
    registerAllocator(kType, this);
    registerDeviceGuard(kType, this);
    kernels_.impl("empty.memory_format", &Chip::empty)
        .impl("empty_strided", &Chip::emptyStrided)
        .impl("copy_", &Chip::copy)
        .impl("mul.Tensor", &Chip::mul);
    fallback_.fallback(CppFunction::makeFromBoxedFunction<&cpu_fallback>());
  }
  static DispatchKey key() { return toRuntimeKey(Functionality::Dense, backendOf(kType)); }
  static Tensor make(IntArrayRef size, IntArrayRef stride, std::optional<ScalarType> dtype,
                     std::optional<Device> device) {
    return Tensor(detail::makeTensor(size, stride, dtype.value_or(kFloat), device.value_or(Device(kType))));
  }
  static Tensor empty(IntArrayRef size, std::optional<ScalarType> dtype, std::optional<Layout>,
                      std::optional<Device> device, std::optional<bool>, std::optional<MemoryFormat>) {
    return make(size, {}, dtype, device);
  }
  static Tensor emptyStrided(IntArrayRef size, IntArrayRef stride, std::optional<ScalarType> dtype,
                             std::optional<Layout>, std::optional<Device> device, std::optional<bool>) {
    return make(size, stride, dtype, device);
  }
  // The chips' memory is the host's, so that each can read the other's.
  static Tensor onHost(const Tensor& t) {
    return t.is_cpu() ? t : from_blob(t.data_ptr(), t.sizes(), t.strides(), TensorOptions(t.dtype()));
  }
  static Tensor& copy(Tensor& self, const Tensor& src, bool) {
    onHost(self).copy_(onHost(src));
    return self;
  }
  static Tensor mul(const Tensor& self, const Tensor& other) {
    ++get().products;
    return onHost(self).mul(onHost(other)).to(TensorOptions(self.device()));
  }

  static thread_local DeviceIndex current;
  Library kernels_, fallback_;
};
template <DeviceType kType>
thread_local DeviceIndex Chip<kType>::current = 0;

using Npu = Chip<kPrivateUse1>;
using Dsp = Chip<kPrivateUse2>;

class TwoChips : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    Npu::get();
    Dsp::get();
    rename_privateuse1_backend("npu");
    rename_privateuse_backend(kPrivateUse2, "dsp");
  }
  Tensor x = arange(6, TensorOptions(kFloat)).view({2, 3});
};

TEST_F(TwoChips, HaveNamesOfTheirOwn) {
  EXPECT_EQ(Device("npu:1"), Device(kPrivateUse1, 1));
  EXPECT_EQ(Device("dsp:1"), Device(kPrivateUse2, 1));
  EXPECT_EQ(Device("privateusetwo:0").str(), "dsp:0");
  EXPECT_EQ(Device("privateusethree").type(), kPrivateUse3);
  EXPECT_STREQ(deviceTypeName(kPrivateUse3), "privateusethree");
  rename_privateuse_backend(kPrivateUse2, "dsp");  // again, and nothing changes
  EXPECT_THAT(errorOf([] { rename_privateuse_backend(kPrivateUse2, "npu"); }),
              AllOf(HasSubstr("'npu' is the name of another device type"), HasSubstr("PrivateUse2")));
  EXPECT_THAT(errorOf([] { rename_privateuse_backend(kPrivateUse2, "tpu"); }),
              AllOf(HasSubstr("PrivateUse2 has been renamed to 'dsp'"), HasSubstr("'tpu'")));
  EXPECT_THAT(errorOf([] { rename_privateuse_backend(kCPU, "host"); }), HasSubstr("got cpu"));
  EXPECT_THAT(errorOf([] { Device("tpu"); }), AllOf(HasSubstr("npu"), HasSubstr("dsp")));
}

TEST_F(TwoChips, RunTheirOwnKernels) {
  const Tensor on_npu = x.to("npu"), on_dsp = x.to("dsp:1");
  EXPECT_EQ(on_npu.device(), Device(kPrivateUse1, 0));
  EXPECT_EQ(on_dsp.device(), Device(kPrivateUse2, 1));
  EXPECT_EQ(on_dsp.key_set(),
            DispatchKeySet({DispatchKey::PrivateUse2, DispatchKey::AutocastPrivateUse2, DispatchKey::ADInplaceOrView}));
  const int npu = Npu::get().products, dsp = Dsp::get().products;
  EXPECT_TRUE(same(on_npu.mul(on_npu), x.mul(x)));
  EXPECT_EQ(Npu::get().products, npu + 1);
  EXPECT_EQ(Dsp::get().products, dsp);
  EXPECT_TRUE(same(on_dsp.mul(on_dsp), x.mul(x)));
  EXPECT_EQ(Npu::get().products, npu + 1);
  EXPECT_EQ(Dsp::get().products, dsp + 1);
  EXPECT_TRUE(same(on_dsp.add(1), x.add(1))) << "by the CPU fallback";
  EXPECT_EQ(on_dsp.toString(), "tensor([[0., 1., 2.],\n        [3., 4., 5.]], device='dsp:1')");
}

TEST_F(TwoChips, DontMixAndCopyToEachOther) {
  const Tensor on_npu = x.to("npu"), on_dsp = x.to("dsp");
  EXPECT_THAT(errorOf([&] { on_npu.add(on_dsp); }),
              AllOf(HasSubstr("same device"), HasSubstr("npu:0"), HasSubstr("dsp:0")));
  EXPECT_TRUE(same(on_npu.to("dsp"), x));
  EXPECT_TRUE(same(on_dsp.to("npu"), x));
  EXPECT_EQ(on_npu.to("dsp").device().type(), kPrivateUse2);
}

TEST_F(TwoChips, HaveTheirOwnCurrentDevice) {
  const DeviceGuard npu(Device("npu:1"));
  EXPECT_EQ(ensure_has_index(Device("npu")).index(), 1);
  EXPECT_EQ(ensure_has_index(Device("dsp")).index(), 0);
  const DeviceGuard dsp(Device("dsp:1"));
  EXPECT_EQ(zeros({2}, TensorOptions(Device("dsp"))).device(), Device(kPrivateUse2, 1));
}

TEST_F(TwoChips, Differentiate) {
  for (const char* device : {"npu", "dsp"}) {
    Tensor w = x.to(device);
    w.requires_grad_();
    w.mul(w).sum().backward();
    EXPECT_EQ(w.grad().device(), w.device());
    EXPECT_TRUE(same(w.grad(), x.mul(2))) << device;
  }
}

TEST_F(TwoChips, AreCastApart) {
  const AutocastGuard autocast(kPrivateUse2, kBFloat16);
  const Tensor on_npu = x.to("npu"), on_dsp = x.to("dsp");
  EXPECT_EQ(on_dsp.mm(on_dsp.t()).dtype(), kBFloat16);
  EXPECT_EQ(on_npu.mm(on_npu.t()).dtype(), kFloat);
  EXPECT_FALSE(autocast::is_enabled(kPrivateUse3));
}

TEST(Cuda, IsNotHere) {
  EXPECT_FALSE(cuda::is_available());
  EXPECT_EQ(cuda::device_count(), 0);
  EXPECT_THAT(errorOf([] { ones({2}).cuda(); }),
              AllOf(HasSubstr("CUDA"), HasSubstr("Shunt itself has kernels for cpu and meta only")));
  EXPECT_THAT(errorOf([] { cuda::synchronize(); }), HasSubstr("cuda has no device guard"));
}

}  // namespace
}  // namespace shunt
