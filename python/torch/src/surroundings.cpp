#include "surroundings.h"

#include "operator_hook.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/PythonTorchFunctionTLS.h>
#include <ATen/SavedTensorHooks.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <ATen/record_function.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>
#include <torch/csrc/autograd/anomaly_mode.h>
#include <torch/csrc/autograd/forward_grad.h>
#include <torch/csrc/utils/python_dispatch.h>

#include <sstream>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace shunt_torch {
namespace {

int64_t floatControl() {
#if defined(__x86_64__)
  return _mm_getcsr() & ~0x3Fu;  // without the flags that operations leave
#else
  return 0;
#endif
}

int64_t precisionOf(const at::Context& context, at::Float32Backend backend, at::Float32Op op) {
  return static_cast<int64_t>(context.float32Precision(backend, op));
}

enum Setting : size_t {
  kGradMode,
  kForwardGrad,
  kInference,
  kAutocastDtype,
  kAutocastCache,
  kDispatchModes,
  kFunctionModes,
  kFunctionState,
  kAnomaly,
  kAnomalyNan,
  kSavedHooks,
  kObservers,
  kDefaultDtype,
  kDeterministic,
  kFill,
  kMatmul,
  kMkldnn,
  kMkldnnDeterministic,
  kNnpack,
  kFlash,
  kMath,
  kThreads,
  kFloatControl,
  kMkldnnMatmul,
  kMkldnnConv,
  kMkldnnRnn,
  kReducedMath
};

}  // namespace

const std::array<const char*, Surroundings::kSettings> Surroundings::kNames = {"grad mode",
                                                                               "forward grad",
                                                                               "inference mode",
                                                                               "autocast's dtype",
                                                                               "autocast's cache",
                                                                               "active TorchDispatchModes",
                                                                               "active TorchFunctionModes",
                                                                               "__torch_function__",
                                                                               "anomaly mode",
                                                                               "anomaly mode's check for nan",
                                                                               "saved-tensor hooks",
                                                                               "profilers",
                                                                               "default dtype",
                                                                               "deterministic algorithms",
                                                                               "filling of uninitialized memory",
                                                                               "float32 matmul precision",
                                                                               "oneDNN",
                                                                               "deterministic oneDNN",
                                                                               "NNPACK",
                                                                               "flash attention",
                                                                               "math attention",
                                                                               "threads",
                                                                               "floating-point control",
                                                                               "oneDNN's matmul precision",
                                                                               "oneDNN's convolution precision",
                                                                               "oneDNN's precision of RNNs",
                                                                               "reduced precision of math attention"};

Surroundings Surroundings::now() {
  Surroundings s;
  const auto local = c10::impl::tls_local_dispatch_key_set();
  s.included_ = local.included_;
  s.excluded_ = local.excluded_;
  auto& v = s.settings_;
  const at::Context& context = at::globalContext();
  v[kGradMode] = at::GradMode::is_enabled();
  v[kForwardGrad] = c10::AutogradState::get_tls_state().get_fw_grad_mode();
  v[kInference] = c10::InferenceMode::is_enabled();
  v[kAutocastDtype] = static_cast<int64_t>(at::autocast::get_autocast_dtype(at::kCPU));
  v[kAutocastCache] = at::autocast::is_autocast_cache_enabled();
  v[kDispatchModes] = c10::impl::TorchDispatchModeTLS::stack_len();
  v[kFunctionModes] = at::impl::PythonTorchFunctionTLS::stack_len();
  v[kFunctionState] = static_cast<int64_t>(at::impl::PythonTorchFunctionTLS::get_disabled_state());
  v[kAnomaly] = torch::autograd::AnomalyMode::is_enabled();
  v[kAnomalyNan] = torch::autograd::AnomalyMode::should_check_nan();
  v[kSavedHooks] = static_cast<int64_t>(at::SavedTensorDefaultHooks::get_tls_state().stack.size());
  v[kObservers] = at::hasCallbacks();
  v[kDefaultDtype] = static_cast<int64_t>(c10::typeMetaToScalarType(c10::get_default_dtype()));
  v[kDeterministic] = context.deterministicAlgorithms() + 2 * context.deterministicAlgorithmsWarnOnly();
  v[kFill] = context.deterministicFillUninitializedMemory();
  v[kMatmul] = precisionOf(context, at::Float32Backend::GENERIC, at::Float32Op::ALL);
  v[kMkldnn] = context.userEnabledMkldnn();
  v[kMkldnnDeterministic] = context.deterministicMkldnn();
  v[kNnpack] = context.userEnabledNNPACK();
  v[kFlash] = context.userEnabledFlashSDP() + 2 * context.userEnabledMemEfficientSDP();
  v[kMath] = context.userEnabledMathSDP();
  v[kThreads] = at::get_num_threads();
  v[kFloatControl] = floatControl();
  v[kMkldnnMatmul] = precisionOf(context, at::Float32Backend::MKLDNN, at::Float32Op::MATMUL);
  v[kMkldnnConv] = precisionOf(context, at::Float32Backend::MKLDNN, at::Float32Op::CONV);
  v[kMkldnnRnn] = precisionOf(context, at::Float32Backend::MKLDNN, at::Float32Op::RNN);
  v[kReducedMath] = context.allowFP16BF16ReductionMathSDP();
  return s;
}

std::string Surroundings::refusal() const {
  const auto& v = settings_;
  if (v[kDispatchModes] != 0) return "a TorchDispatchMode is active";
  if (OperatorHook::isActive()) return "a call is being recorded";
  if (v[kFunctionModes] != 0)
    return "a TorchFunctionMode is active (torch.set_default_device and `with torch.device` are such)";
  if (v[kFunctionState] != 0) return "__torch_function__ is disabled here";
  if (v[kAnomaly] != 0) return "anomaly mode is on";
  if (v[kSavedHooks] != 0) return "saved-tensor hooks are active";
  if (included_.has(c10::DispatchKey::FuncTorchDynamicLayerFrontMode)) return "a transform of torch.func is active";
  if (included_.has(c10::DispatchKey::Tracer)) return "torch.jit.trace is active";
  if (included_.has(c10::DispatchKey::Functionalize)) return "functionalization is active";
  return "";
}

std::string Surroundings::difference(const Surroundings& got) const {
  std::ostringstream out;
  for (size_t i = 0; i < kSettings && out.tellp() == 0; ++i)
    if (settings_[i] != got.settings_[i])
      out << kNames[i] << ": expected " << settings_[i] << ", got " << got.settings_[i];
  if (out.tellp() == 0 && !(*this == got))
    out << "thread-local dispatch keys: expected " << included_ << " without " << excluded_ << ", got " << got.included_
        << " without " << got.excluded_;
  return out.str();
}

}  // namespace shunt_torch
