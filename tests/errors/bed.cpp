#include "tests/errors/bed.h"

#include <shunt/jit/jit.h>

#include <sstream>

namespace shunt::testing {
namespace {

Tensor onCpu(const Tensor& x, int64_t n) { return x.add(Scalar(n)); }

std::string bytesOf(const Tensor& t) {
  if (!t.unsafeGetTensorImpl()->has_storage() || t.storage()->data() == nullptr) return "";
  return {reinterpret_cast<const char*>(t.storage()->data()), t.storage()->nbytes()};
}

std::string describe(const Tensor& t) {
  if (!t.defined()) return "undefined";
  std::ostringstream out;
  out << t.unsafeGetTensorImpl() << " sizes " << t.sizes() << " strides " << t.strides() << " offset "
      << t.storage_offset() << ' ' << t.dtype() << ' ' << t.device() << " keys " << t.key_set().raw() << " leaf "
      << t.is_leaf() << " requires_grad " << t.requires_grad() << " grad_fn " << t.grad_fn().get() << " output "
      << t.output_nr() << " view " << t.is_view();
  if (!t.is_inference()) out << " version " << t._version();
  out << " bytes " << bytesOf(t);
  if (t.grad().defined()) out << " grad " << t.grad().sizes() << t.grad()._version() << bytesOf(t.grad());
  return std::move(out).str();
}

std::string threadState() {
  const detail::LocalState& s = detail::tls_state;
  return detail::str(s.included, ' ', s.excluded, ' ', s.user_excluded, ' ', s.mode, ' ', s.autocast_nesting, ' ',
                     default_generator().current_seed());
}

}  // namespace

ForeignTensor::ForeignTensor() {
  managed.dl_tensor = {data.data(), {dlpack::kDLCPU, 0}, 2, {dlpack::kDLFloat, 32, 1}, shape.data(), strides.data(), 0};
  managed.manager_ctx = this;
  managed.deleter = [](dlpack::DLManagedTensor* self) { ++static_cast<ForeignTensor*>(self->manager_ctx)->deleted; };
}

Tensor counted(IntArrayRef sizes, ScalarType dtype) {
  int64_t n = 1;
  for (int64_t size : sizes) n *= size;
  return shunt::arange(n, TensorOptions(kFloat)).to(dtype).reshape(sizes).clone();
}

Bed::Bed() : library(Library::Kind::kFragment, "errs"), kernels(Library::Kind::kImpl, "errs", DispatchKey::CPU) {
  a = counted({2, 3});
  b = counted({2, 4});
  vec4 = counted({4});
  scalar = counted({}, kFloat);
  empty = shunt::empty({0, 3});
  square = counted({3, 3});
  cube = counted({2, 3, 4});
  doubles = counted({2, 3}, kDouble);
  longs = counted({2, 3}, kLong);
  bytes = counted({2, 3}, kByte);
  bools = counted({2, 3}, kBool);
  meta = shunt::empty({2, 3}, TensorOptions(kMeta));
  expanded = counted({1, 3}).expand({2, 3});
  leaf = counted({2, 3}).requires_grad_();
  graph = leaf * leaf;
  {
    InferenceMode mode;
    inference = counted({2, 3});
  }
  library.def("on_cpu(Tensor x, int n=1) -> Tensor");
  library.def("no_kernel(Tensor x) -> Tensor");
  library.def("no_tensor(int n) -> Tensor");
  library.def("returns_int(Tensor x) -> int");
  library.def("returns_view(Tensor(a) x) -> Tensor(a)");
  kernels.impl("on_cpu", &onCpu);
  kernels.impl("undefined_op", &onCpu);
}

std::vector<std::pair<const char*, const Tensor*>> Bed::tensors() const {
  return {{"undefined", &undefined},
          {"a", &a},
          {"b", &b},
          {"vec4", &vec4},
          {"scalar", &scalar},
          {"empty", &empty},
          {"square", &square},
          {"cube", &cube},
          {"doubles", &doubles},
          {"longs", &longs},
          {"bytes", &bytes},
          {"bools", &bools},
          {"meta", &meta},
          {"expanded", &expanded},
          {"leaf", &leaf},
          {"graph", &graph},
          {"inference", &inference},
          {"x", &x},
          {"y", &y},
          {"z", &z}};
}

State stateOf(const Bed& bed) {
  State state;
  for (const auto& [name, t] : bed.tensors()) state[name] = describe(*t);
  state["foreign tensor's deleter calls"] = std::to_string(bed.foreign.deleted);
  state["thread"] = threadState();
  // Thunks are published whenever a pair gets hot, which no call can help.
  jit::wait_idle();
  state["operator states published"] =
      std::to_string(Dispatcher::singleton().stats().states_published - jit::stats().compiled);
  return state;
}

State registryState() {
  State state;
  const Dispatcher& d = Dispatcher::singleton();
  for (const OperatorName& name : d.getAllOpNames()) {
    const OperatorHandle op = *d.findOp(name);
    state[name.str()] = op.dumpState() + op.dumpComputedTable();
  }
  state["fallbacks"] = d.dumpFallbacks();
  return state;
}

}  // namespace shunt::testing
