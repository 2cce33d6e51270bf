// The differentiating half of Note [Levels]: inputs, gradients and results of one grad level.
#include "src/transforms/vmap/changes_outside.h"

#include "src/autograd/plain_grad.h"

#include <shunt/autograd/engine.h>
#include <shunt/ops.h>
#include <shunt/transforms/functionalize.h>
#include <shunt/transforms/grad_transforms.h>

#include <algorithm>

namespace shunt::detail {

using levels::Kind;
using levels::Level;
using levels::LevelFrame;

struct GradCall::State {
  std::string transform;
  Level level{Kind::kGrad};
  levels::ChangesOutside changes;  // since a vjp's function returned
  std::vector<Tensor> inputs;
  std::vector<size_t> arguments;                    // of the inputs
  std::vector<std::unique_ptr<LevelFrame>> frames;  // entered; more than one where vjp's function calls itself
};

GradCall::GradCall(std::string transform) : state_(std::make_unique<State>()) {
  state_->transform = std::move(transform);
  if (state_->transform == "vjp") state_->level.changes = &state_->changes;
}

GradCall::~GradCall() = default;

void GradCall::enter() { state_->frames.push_back(std::make_unique<LevelFrame>(state_->level)); }

void GradCall::leave() noexcept {
  state_->frames.pop_back();
  if (std::exchange(state_->level.changes, nullptr) != nullptr) state_->changes.functionReturned();
}

Tensor GradCall::wrap(size_t argument, const Tensor& t) {
  SHUNT_CHECK(t.is_floating_point(), state_->transform, ": argument ", argument, " holds a tensor of dtype ", t.dtype(),
              ", which has no gradient: expected a floating dtype; name the arguments to differentiate by argnums");
  Tensor tracked = levels::makeTracked(state_->level, t);
  tracked.set_requires_grad(true);
  state_->inputs.push_back(tracked);
  state_->arguments.push_back(argument);
  return tracked;
}

void GradCall::checkScalar(const Tensor& result) const {
  SHUNT_CHECK(result.defined() && result.dim() == 0, state_->transform,
              ": the function has to return a tensor without dimensions, but returned ",
              result.defined() ? str("one of shape ", result.sizes()) : "an undefined one",
              "; reduce it (sum, mean), or use vjp or jacrev");
  SHUNT_CHECK(result.is_floating_point(), state_->transform, ": the function returned a tensor of dtype ",
              result.dtype(), ", which has no gradient: expected a floating dtype");
}

namespace {

/// Whether something outside of the innermost level may differentiate what is computed here.
bool differentiatedOutside(const std::vector<Tensor>& inputs) {
  return std::any_of(inputs.begin(), inputs.end(), [](const Tensor& t) {
    const Tensor& value = levels::storageOf(t).value;
    return value.requires_grad() || autograd::hidesGraph(value);
  });
}

}  // namespace

std::vector<Tensor> GradCall::gradients(const std::vector<Tensor>& outputs, const std::vector<Tensor>& grads,
                                        bool keep_graph) {
  const bool are_given = state_->transform == "vjp";
  SHUNT_CHECK(!are_given || grads.size() == outputs.size(), state_->transform, ": expected gradients for ",
              outputs.size(), " tensors, got ", grads.size());
  std::vector<Tensor> roots, seeds;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& out = outputs[i];
    if (!out.defined()) continue;
    if (are_given && grads[i].defined())
      SHUNT_CHECK(grads[i].sizes() == out.sizes(), state_->transform, ": the gradient for result ", i, " has shape ",
                  grads[i].sizes(), ", and the result has shape ", out.sizes());
    SHUNT_CHECK(!levels::isAround(out, state_->level), state_->transform, ": result ", i, " of the function, ",
                out.sizes(), ", is a ", is_functional(out) ? "functional tensor" : "TensorSubclass",
                " around a tensor of the function, whose gradient would be lost: return what it holds (",
                is_functional(out) ? "from_functional" : "unwrap", ")");
    if (!levels::belongsTo(out, state_->level) || !out.requires_grad()) continue;
    if (are_given && !grads[i].defined()) continue;  // autograd would take 1 for it
    roots.push_back(out);
    seeds.push_back(are_given ? grads[i] : Tensor());
  }
  std::vector<Tensor> result(state_->inputs.size());
  // Formulas look at the grad mode to know whether their results will be differentiated.
  const levels::InBackward scope(state_->level);
  state_->changes.follow();
  if (!roots.empty() && !result.empty())
    result = autograd::grad(roots, state_->inputs, seeds, keep_graph, differentiatedOutside(state_->inputs), true);
  for (size_t i = 0; i < result.size(); ++i)
    if (!result[i].defined()) result[i] = ops::zeros_like::call(state_->inputs[i], {}, {}, {}, {}, {});
  // The engine hands on plain tensors. Where functionalization is on outside, the program may write to them.
  if (levels::isFunctionalizedFurtherOut()) [[unlikely]] {
    const levels::Outside outside;
    for (Tensor& t : result)
      if (FunctionalizeGuard::is_enabled() && wrapperKind(t) == WrapperKind::kNone) t = to_functional(t);
  }
  return result;
}

std::vector<Tensor> GradCall::ordered(std::vector<Tensor> gradients, const std::vector<int64_t>& argnums,
                                      size_t n) const {
  std::vector<Tensor> out;
  for (const int64_t a : argnums)
    for (size_t i = 0; i < gradients.size(); ++i)
      if (state_->arguments[i] == static_cast<size_t>(a < 0 ? a + static_cast<int64_t>(n) : a))
        out.push_back(std::move(gradients[i]));
  return out;
}

Tensor GradCall::unwrap(const Tensor& t) const {
  return t.defined() && levels::belongsTo(t, state_->level) ? levels::storageOf(t).value : t;
}

void checkArgnums(const char* transform, const std::vector<int64_t>& argnums, const std::vector<bool>& tensors) {
  const auto n = static_cast<int64_t>(tensors.size());
  SHUNT_CHECK(!argnums.empty(), transform, ": argnums is empty: nothing to differentiate with respect to");
  std::vector<bool> named(tensors.size());
  for (const int64_t a : argnums) {
    SHUNT_CHECK_INDEX(a >= -n && a < n, transform, ": argnums has ", a, ", and the function was called with ", n,
                      " arguments: expected a number in [", -n, ", ", n - 1, "]");
    const auto argument = static_cast<size_t>(a < 0 ? a + n : a);
    SHUNT_CHECK(tensors[argument], transform, ": argument ", a, " holds no tensor to differentiate with respect to");
    SHUNT_CHECK(!named[argument], transform, ": argnums names argument ", argument, " twice: expected each once");
    named[argument] = true;
  }
}

Tensor basisOf(const Tensor& result) {
  const int64_t n = result.numel();
  std::vector<int64_t> sizes = {n};
  sizes.insert(sizes.end(), result.sizes().begin(), result.sizes().end());
  return ops::view::call(ops::eye::call(n, result.dtype(), std::nullopt, result.device(), std::nullopt), sizes);
}

Tensor asJacobian(const Tensor& rows, const Tensor& result, const Tensor& input) {
  std::vector<int64_t> sizes = result.sizes().vec();
  sizes.insert(sizes.end(), input.sizes().begin(), input.sizes().end());
  return ops::reshape::call(rows, sizes);
}

}  // namespace shunt::detail
