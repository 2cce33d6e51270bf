// Devices, dtypes and layouts that have no kernels here, mixed devices, autocast's settings.
#include "tests/errors/bed.h"

#include <shunt/backend.h>

namespace shunt::testing {
namespace {

/// Every device that PyTorch names and that has no backend here.
struct ForeignDevice {
  const char* text;
  const char* shown;  // in messages
  const char* advice;
};
constexpr const char* kOnCpuAndMeta = "tensors can be made on cpu and meta";
constexpr const char* kLoad = "no loaded library does. Load such a library, or use the device cpu.";
constexpr ForeignDevice kForeignDevices[] = {{"cuda", "CUDA", kLoad},
                                             {"hip", "HIP", kLoad},
                                             {"xla", "XLA", kLoad},
                                             {"xpu", "XPU", kLoad},
                                             {"mps", "MPS", kLoad},
                                             {"hpu", "HPU", kLoad},
                                             {"ve", "VE", kLoad},
                                             {"lazy", "Lazy", kLoad},
                                             {"ipu", "IPU", kLoad},
                                             {"privateuseone", "PrivateUse1", kLoad},
                                             {"cuda:1", "CUDA", kLoad},
                                             {"mkldnn", "Mkldnn", kLoad},
                                             {"opengl", "opengl", kOnCpuAndMeta},
                                             {"opencl", "opencl", kOnCpuAndMeta},
                                             {"ideep", "ideep", kOnCpuAndMeta},
                                             {"fpga", "FPGA", kLoad},
                                             {"ort", "ORT", kLoad},
                                             {"vulkan", "Vulkan", kLoad},
                                             {"metal", "Metal", kLoad}};

void addForeignDevices(std::vector<BadInput>& rows) {
  for (const ForeignDevice& device : kForeignDevices) {
    const auto add = [&](const char* what, std::function<void(Bed&)> run) {
      rows.push_back({std::string(what) + device.text, {"empty", device.shown, device.advice}, std::move(run)});
    };
    const std::string text = device.text;
    add("to: ", [text](Bed& bed) { bed.a.to(Device(text)); });
    add("to with grad: ", [text](Bed& bed) { bed.leaf.to(Device(text)); });
    add("empty: ", [text](Bed&) { shunt::empty({2}, TensorOptions(text)); });
  }
}

}  // namespace

static std::vector<BadInput> deviceStringCases() {
  return {
      {"device: empty", {"device", "''", "cpu"}, [](Bed&) { Device(""); }},
      {"device: unknown", {"device", "gpu", "cuda"}, [](Bed&) { Device("gpu"); }},
      {"device: no index", {"'cuda:'", "number from 0 to 127"}, [](Bed&) { Device("cuda:"); }},
      {"device: negative index", {"'cuda:-1'", "number from 0 to 127"}, [](Bed&) { Device("cuda:-1"); }},
      {"device: large index", {"'cuda:128'", "number from 0 to 127"}, [](Bed&) { Device("cuda:128"); }},
      {"device: text behind", {"'cpu:0 '", "number from 0 to 127"}, [](Bed&) { Device("cpu:0 "); }},
      {"device: leading zero", {"'cuda:01'"}, [](Bed&) { Device("cuda:01"); }},
  };
}

static std::vector<BadInput> mixedDeviceCases() {
  return {
      {"mixed: add", {"'other' of add", "same device", "cpu and meta"}, [](Bed& bed) { bed.a.add(bed.meta); }},
      {"mixed: add the other way",
       {"'other' of add", "same device", "meta and cpu"},
       [](Bed& bed) { bed.meta.add(bed.a); }},
      {"mixed: with grad", {"mul", "same device", "cpu", "meta"}, [](Bed& bed) { bed.leaf.mul(bed.meta); }},
      {"mixed: in-place", {"add_", "same device", "cpu", "meta"}, [](Bed& bed) { bed.a.add_(bed.meta); }},
      {"mixed: where",
       {"where", "same device", "cpu", "meta"},
       [](Bed& bed) { shunt::where(bed.bools, bed.a, bed.meta); }},
      {"mixed: mm", {"mm", "same device", "mat2", "cpu", "meta"}, [](Bed& bed) { bed.square.mm(bed.meta.t()); }},
      {"mixed: addmm",
       {"addmm", "same device", "mat1", "cpu", "meta"},
       [](Bed& bed) { shunt::addmm(bed.a, bed.meta, bed.square); }},
      {"mixed: linear", {"linear", "same device", "cpu", "meta"}, [](Bed& bed) { shunt::linear(bed.a, bed.meta); }},
      {"mixed: cat", {"cat", "same device", "cpu", "meta"}, [](Bed& bed) { shunt::cat({bed.a, bed.meta}); }},
      {"mixed: index_select",
       {"index_select", "same device", "cpu", "meta"},
       [](Bed& bed) { bed.a.index_select(0, shunt::empty({1}, TensorOptions(kLong).device(kMeta))); }},
      {"mixed: nll_loss",
       {"nll_loss", "same device", "cpu", "meta"},
       [](Bed& bed) { shunt::nll_loss(bed.a, shunt::empty({2}, TensorOptions(kLong).device(kMeta))); }},
      {"mixed: mse_loss",
       {"mse_loss", "same device", "cpu", "meta"},
       [](Bed& bed) { shunt::mse_loss(bed.a, bed.meta); }},
      {"meta: to cpu", {"Cannot copy out of meta tensor"}, [](Bed& bed) { bed.meta.cpu(); }},
      {"meta: copied to cpu", {"Cannot copy out of meta tensor"}, [](Bed& bed) { bed.a.copy_(bed.meta); }},
      {"meta: gradient of a cpu tensor", {"device", "meta", "cpu"}, [](Bed& bed) { bed.graph.backward(bed.meta); }},
  };
}

/// Numbers for a CPU tensor can't come from another device's generator.
static std::vector<BadInput> generatorCases() {
  const std::vector<std::string> parts = {"enerator", "'cpu'", "'meta'"};
  const auto foreign = [](const char* device = "meta") {
    return Generator(make_intrusive<GeneratorImpl>(Device(device), 1));
  };
  return {
      {"generator: rand from cuda's",
       {"generator", "'cpu'", "'cuda'"},
       [=](Bed&) { shunt::rand({2}, foreign("cuda")); }},
      {"generator: uniform_ from cuda's",
       {"uniform_", "CUDA"},
       [=](Bed& bed) { bed.a.uniform_(0, 1, foreign("cuda")); }},
      {"generator: rand", parts, [=](Bed&) { shunt::rand({2}, foreign()); }},
      {"generator: rand of nothing", parts, [=](Bed&) { shunt::rand({0}, foreign()); }},
      {"generator: randn", parts, [=](Bed&) { shunt::randn({2}, foreign()); }},
      {"generator: randint", parts, [=](Bed&) { shunt::randint(3, {2}, foreign()); }},
      {"generator: randperm", parts, [=](Bed&) { shunt::randperm(3, foreign()); }},
      {"generator: randperm of one", parts, [=](Bed&) { shunt::randperm(1, foreign()); }},
      {"generator: normal", parts, [=](Bed&) { shunt::normal(0, 1, {2}, foreign()); }},
      {"generator: bernoulli", parts, [=](Bed& bed) { shunt::zeros_like(bed.a).bernoulli(foreign()); }},
      {"generator: uniform_", parts, [=](Bed& bed) { bed.a.uniform_(0, 1, foreign()); }},
      {"generator: random_", parts, [=](Bed& bed) { bed.longs.random_(foreign()); }},
      {"generator: bernoulli_", parts, [=](Bed& bed) { bed.a.bernoulli_(0.5, foreign()); }},
      {"generator: bernoulli_ of probabilities", parts,
       [=](Bed& bed) { bed.a.bernoulli_(shunt::zeros_like(bed.a), foreign()); }},
      {"generator: normal_", parts, [=](Bed& bed) { bed.a.normal_(0, 1, foreign()); }},
      {"generator: randperm_out", parts, [=](Bed& bed) { shunt::randperm_out(bed.longs, 3, foreign()); }},
      {"generator: random_ in a range", parts, [=](Bed& bed) { bed.longs.random_(0, 5, foreign()); }},
  };
}

static std::vector<BadInput> optionCases() {
  return {
      {"dtype: complex zeros",
       {"zeros", "omplex"},
       [](Bed&) { shunt::zeros({2}, TensorOptions(ScalarType::ComplexFloat)); }},
      {"dtype: complex empty",
       {"empty", "omplex"},
       [](Bed&) { shunt::empty({2}, TensorOptions(ScalarType::ComplexDouble)); }},
      {"dtype: to complex",
       {"aten::to", "ComplexHalf", "no complex kernels"},
       [](Bed& bed) { bed.a.to(ScalarType::ComplexHalf); }},
      {"dtype: sum in complex", {"sum", "omplex"}, [](Bed& bed) { bed.a.sum(ScalarType::ComplexFloat); }},
      {"dtype: softmax in complex",
       {"softmax", "omplex"},
       [](Bed& bed) { bed.a.softmax(0, ScalarType::ComplexFloat); }},
      {"dtype: from_blob of complex",
       {"from_blob", "omplex"},
       [](Bed& bed) { shunt::from_blob(bed.foreign.data.data(), {2}, TensorOptions(ScalarType::ComplexFloat)); }},
      {"dtype: default of longs", {"default", "floating", "Long"}, [](Bed&) { set_default_dtype(kLong); }},
      {"dtype: default complex", {"default", "omplex"}, [](Bed&) { set_default_dtype(ScalarType::ComplexFloat); }},
      {"layout: sparse zeros", {"zeros", "Sparse", "Strided"}, [](Bed&) { shunt::zeros({2}, TensorOptions(kSparse)); }},
      {"layout: sparse empty",
       {"empty", "Sparse", "Strided"},
       [](Bed&) { shunt::empty({2}, TensorOptions(Layout::SparseCsr)); }},
      {"layout: sparse of a like form",
       {"zeros_like", "Sparse", "Strided"},
       [](Bed& bed) { shunt::zeros_like(bed.a, TensorOptions(kSparse)); }},
      {"layout: to sparse", {"aten::to", "Sparse", "Strided"}, [](Bed& bed) { bed.a.to(TensorOptions(kSparse)); }},
      {"pinned: empty", {"empty", "pin"}, [](Bed&) { shunt::empty({2}, TensorOptions().pinned_memory(true)); }},
      {"pinned: rand", {"rand", "pin"}, [](Bed&) { shunt::rand({2}, TensorOptions().pinned_memory(true)); }},
      {"format: preserve in empty",
       {"empty", "reserve"},
       [](Bed&) { shunt::empty({2}, TensorOptions(MemoryFormat::Preserve)); }},
      {"format: channels last of one dimension",
       {"empty", "4"},
       [](Bed&) { shunt::empty({2}, TensorOptions(MemoryFormat::ChannelsLast)); }},
      {"autocast: float32",
       {"autocast", "cpu", "BFloat16", "Half", "Float"},
       [](Bed&) { AutocastGuard guard(kCPU, kFloat); }},
      {"autocast: longs", {"autocast", "BFloat16", "Half", "Long"}, [](Bed&) { AutocastGuard guard(kCPU, kLong); }},
      {"autocast: vulkan", {"autocast", "vulkan"}, [](Bed&) { AutocastGuard guard(DeviceType::Vulkan); }},
      {"autocast: opencl", {"autocast", "opencl"}, [](Bed&) { AutocastGuard guard(DeviceType::OPENCL); }},
  };
}

namespace {

struct OtherGuard : DeviceGuardImplInterface {
  DeviceType type() const override { return kCPU; }
  Device getDevice() const override { return kCPU; }
  void setDevice(Device) const override {}
  void uncheckedSetDevice(Device) const noexcept override {}
  DeviceIndex deviceCount() const noexcept override { return 1; }
};

struct OtherAllocator : Allocator {
  DataPtr allocate(size_t, Device) override { return {}; }
};

/// An operator on its way through the CPU fallback.
template <class Op, class... A>
void fallBack(A&&... arguments) {
  call_fallback_fn<&cpu_fallback, Op>::call(std::forward<A>(arguments)...);
}

}  // namespace

/// What a backend registers, and what is said while it has not.
static std::vector<BadInput> backendCases() {
  return {
      {"rename: no name",
       {"rename_privateuse1_backend", "lower-case", "''"},
       [](Bed&) { rename_privateuse1_backend(""); }},
      {"rename: capitals",
       {"rename_privateuse1_backend", "lower-case", "'OpenCL'"},
       [](Bed&) { rename_privateuse1_backend("OpenCL"); }},
      {"rename: cpu", {"'cpu'", "another device type"}, [](Bed&) { rename_privateuse1_backend("cpu"); }},
      {"rename: cuda", {"'cuda'", "backend of its own"}, [](Bed&) { rename_privateuse1_backend("cuda"); }},
      {"rename: vulkan", {"'vulkan'", "key of its own"}, [](Bed&) { rename_privateuse1_backend("vulkan"); }},
      {"guard: none",
       {"cuda has no device guard", "load_library", "registerDeviceGuard"},
       [](Bed&) { DeviceGuard guard(Device("cuda:0")); }},
      {"guard: none to wait for",
       {"xpu has no device guard", "registerDeviceGuard"},
       [](Bed&) { synchronize(Device("xpu")); }},
      {"guard: null",
       {"registerDeviceGuard", "privateuseone", "null"},
       [](Bed&) { registerDeviceGuard(kPrivateUse1, nullptr); }},
      {"guard: of another type",
       {"registerDeviceGuard", "cuda", "got one of cpu"},
       [](Bed&) { registerDeviceGuard(kCUDA, &getDeviceGuardImpl(kCPU)); }},
      {"guard: taken",
       {"registerDeviceGuard", "cpu already has another"},
       [](Bed&) {
         static const OtherGuard other;
         registerDeviceGuard(kCPU, &other);
       }},
      {"allocator: null",
       {"registerAllocator", "privateuseone", "null"},
       [](Bed&) { registerAllocator(kPrivateUse1, nullptr); }},
      {"allocator: taken",
       {"registerAllocator", "cpu already has another"},
       [](Bed&) {
         static OtherAllocator other;
         registerAllocator(kCPU, &other);
       }},
      {"allocator: none",
       {"privateuseone", "load_library", "registerAllocator(", "PrivateUse1"},
       [](Bed&) { allocatorOf(kPrivateUse1); }},
      {"load_library: no path", {"load_library", "empty"}, [](Bed&) { load_library(""); }},
      {"load_library: no file",
       {"load_library(\"./no_such.so\")", "can't be loaded", "No such file"},
       [](Bed&) { load_library("./no_such.so"); }},
      {"load_library: no library",
       {"load_library(\"/dev/null\")", "can't be loaded"},
       [](Bed&) { load_library("/dev/null"); }},
      {"cpu_fallback: mixed devices",
       {"aten::add.Tensor", "cpu (argument self)", "meta (argument other)"},
       [](Bed& bed) { fallBack<ops::add_Tensor>(bed.a, bed.meta, 1); }},
      {"cpu_fallback: what it is made of",
       {"aten::empty_strided", "can't fall back", "SHUNT_LIBRARY_IMPL(aten, Meta, m)", "m.impl(\"empty_strided\""},
       [](Bed&) {
         fallBack<ops::empty_strided>(IntArrayRef({2}), IntArrayRef({1}), std::nullopt, std::nullopt, Device(kMeta),
                                      std::nullopt);
       }},
      {"cpu_fallback: a view",
       {"aten::view", "returns a view", "SHUNT_LIBRARY_IMPL(aten, Meta, m)"},
       [](Bed& bed) { fallBack<ops::view>(bed.meta, IntArrayRef({6})); }},
      {"cpu_fallback: no kernel for the CPU",
       {"errs::no_kernel", "no kernel for the CPU", "m.impl(\"no_kernel\""},
       [](Bed& bed) {
         Stack stack = {bed.meta};
         cpu_fallback(Dispatcher::singleton().findSchemaOrThrow("errs::no_kernel"), &stack);
       }},
      {"cpu_fallback: arguments missing",
       {"errs::on_cpu", "takes 2 arguments", "holds 0"},
       [](Bed&) {
         Stack stack;
         cpu_fallback(Dispatcher::singleton().findSchemaOrThrow("errs::on_cpu"), &stack);
       }},
  };
}

std::vector<BadInput> deviceCases() {
  std::vector<BadInput> rows;
  addForeignDevices(rows);
  for (auto* table : {&deviceStringCases, &mixedDeviceCases, &generatorCases, &optionCases, &backendCases})
    for (BadInput& row : table()) rows.push_back(std::move(row));
  return rows;
}

}  // namespace shunt::testing
