// The operators native_batch_norm, its backward and batch_norm: shapes, dtypes and checks.
#include "generated/native_functions.h"
#include "kernels/common/overlap.h"
#include "kernels/common/result.h"
#include "kernels/common/view_util.h"
#include "kernels/nn/batch_norm.h"
#include "kernels/nn/elements.h"

namespace shunt::native {
namespace {

using OptionalTensor = std::optional<Tensor>;
using Three = std::tuple<Tensor, Tensor, Tensor>;

struct Vector {
  const char* name;
  const OptionalTensor& t;
  bool defined() const { return t && t->defined(); }
};

int64_t channelsOf(const char* op, const TensorImpl& input) {
  SHUNT_CHECK(input.dim() >= 2, op, "(): expected input of at least 2 dimensions, samples and channels; got ",
              input.sizes());
  return input.sizes()[1];
}

/// The dtype of parameters and statistics: the input's, or Float beside 16-bit types. One for all, one element each
/// channel.
ScalarType checkedVectors(const char* op, const TensorImpl& input, std::initializer_list<Vector> vectors) {
  const ScalarType own = input.dtype();
  if (!isFloatingType(own)) detail::throwNotImplementedFor("batch_norm", own);
  const int64_t channels = channelsOf(op, input);
  ScalarType type = ScalarType::Undefined;
  for (const Vector& v : vectors) {
    if (!v.defined()) continue;
    SHUNT_CHECK(v.t->numel() == channels && v.t->dim() == 1, v.name, " should contain ", channels, " elements not ",
                v.t->numel());
    const bool first = type == ScalarType::Undefined;
    if (first) type = v.t->scalar_type();
    const bool fits = type == own || (type == kFloat && (own == kBFloat16 || own == kHalf));
    SHUNT_CHECK(fits && v.t->scalar_type() == type, op, "(): expected ", v.name, " to be ", first || fits ? own : type,
                first ? ", the dtype of input" : ", as the parameters before it",
                own == kBFloat16 || own == kHalf ? ", or Float for all" : "", "; got ", v.t->scalar_type());
  }
  return type == ScalarType::Undefined ? own : type;
}

void checkRunning(bool training, const OptionalTensor& mean, const OptionalTensor& var) {
  SHUNT_CHECK(training || (mean && mean->defined()), "running_mean must be defined in evaluation mode");
  SHUNT_CHECK(training || (var && var->defined()), "running_var must be defined in evaluation mode");
}

const TensorImpl* implOrNull(const OptionalTensor& t) { return t ? t->unsafeGetTensorImpl() : nullptr; }

/// Running statistics are written in training.
void checkWritten(const char* op, std::initializer_list<const OptionalTensor*> vectors) {
  for (const OptionalTensor* t : vectors)
    if (const TensorImpl* impl = implOrNull(*t)) elementwise::assertNoInternalOverlap(op, *impl, Overlap::kError);
}

}  // namespace

Three native_batch_norm(const Tensor& input, const OptionalTensor& weight, const OptionalTensor& bias,
                        const OptionalTensor& running_mean, const OptionalTensor& running_var, bool training,
                        double momentum, double eps) {
  constexpr const char* kOp = "native_batch_norm";
  const TensorImpl& x = implOf(input, kOp, "input");
  const ScalarType type = checkedVectors(
      kOp, x, {{"weight", weight}, {"bias", bias}, {"running_mean", running_mean}, {"running_var", running_var}});
  checkRunning(training, running_mean, running_var);
  if (training) checkWritten(kOp, {&running_mean, &running_var});
  Tensor out = newResult(x, x.sizes(), x.dtype());
  const int64_t statistics = training ? channelsOf(kOp, x) : 0;
  Tensor mean = newResult(x, statistics, type), invstd = newResult(x, statistics, type);
  if (hasData(x)) {
    const Tensor from = nn::dense(input);
    nn::batchNorm({from.unsafeGetTensorImpl(), implOrNull(weight), implOrNull(bias), implOrNull(running_mean),
                   implOrNull(running_var), mean.unsafeGetTensorImpl(), invstd.unsafeGetTensorImpl(),
                   out.unsafeGetTensorImpl(), training, momentum, eps});
  }
  return {nn::inFormatOf(input, std::move(out)), std::move(mean), std::move(invstd)};
}

Three native_batch_norm_backward(const Tensor& grad_out, const Tensor& input, const OptionalTensor& weight,
                                 const OptionalTensor& running_mean, const OptionalTensor& running_var,
                                 const OptionalTensor& save_mean, const OptionalTensor& save_invstd, bool train,
                                 double eps, std::array<bool, 3> output_mask) {
  constexpr const char* kOp = "native_batch_norm_backward";
  const TensorImpl &x = implOf(input, kOp, "input"), &g = implOf(grad_out, kOp, "grad_out");
  const OptionalTensor &mean = train ? save_mean : running_mean, &variance = train ? save_invstd : running_var;
  const ScalarType type = checkedVectors(kOp, x,
                                         {{"weight", weight},
                                          {train ? "save_mean" : "running_mean", mean},
                                          {train ? "save_invstd" : "running_var", variance}});
  SHUNT_CHECK(g.sizes() == x.sizes() && g.dtype() == x.dtype(), kOp, "(): expected grad_out to be like input, ",
              x.dtype(), ' ', x.sizes(), "; got ", g.dtype(), ' ', g.sizes());
  SHUNT_CHECK(mean && mean->defined() && variance && variance->defined(), kOp, "(): expected ",
              train ? "save_mean and save_invstd" : "running_mean and running_var", " to be given where train is ",
              train ? "true" : "false");
  const int64_t channels = channelsOf(kOp, x);
  Tensor to_input, to_weight, to_bias;
  if (output_mask[0]) to_input = newResult(x, x.sizes(), x.dtype());
  if (output_mask[1]) to_weight = newResult(x, channels, type);
  if (output_mask[2]) to_bias = newResult(x, channels, type);
  if (hasData(x)) {
    const Tensor grad = nn::dense(grad_out), from = nn::dense(input);
    nn::batchNormBackward({grad.unsafeGetTensorImpl(), from.unsafeGetTensorImpl(), implOrNull(weight), implOrNull(mean),
                           implOrNull(variance), to_input.unsafeGetTensorImpl(), to_weight.unsafeGetTensorImpl(),
                           to_bias.unsafeGetTensorImpl(), train, eps});
  }
  if (to_input.defined()) to_input = nn::inFormatOf(input, std::move(to_input));
  return {std::move(to_input), std::move(to_weight), std::move(to_bias)};
}

Tensor batch_norm(const Tensor& input, const OptionalTensor& weight, const OptionalTensor& bias,
                  const OptionalTensor& running_mean, const OptionalTensor& running_var, bool training, double momentum,
                  double eps, bool /*cudnn_enabled*/) {
  const int64_t channels = channelsOf("batch_norm", implOf(input, "batch_norm", "input"));
  if (input.numel() == 0) {
    // A copy of nothing that depends on the parameters.
    Tensor out = ops::clone::call(input, std::nullopt);
    if (weight && weight->defined()) out = ops::mul_Tensor::call(out, ops::select_int::call(*weight, 0, 0));
    if (bias && bias->defined()) out = ops::add_Tensor::call(out, ops::select_int::call(*bias, 0, 0), 1);
    return out;
  }
  checkRunning(training, running_mean, running_var);
  for (const Vector& v : {Vector{"running_mean", running_mean}, Vector{"running_var", running_var},
                          Vector{"weight", weight}, Vector{"bias", bias}})
    SHUNT_CHECK(!v.defined() || v.t->numel() == channels, v.name, " should contain ", channels, " elements not ",
                v.t->numel());
  return std::get<0>(
      ops::native_batch_norm::call(input, weight, bias, running_mean, running_var, training, momentum, eps));
}

}  // namespace shunt::native
