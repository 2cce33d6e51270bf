#include "src/compile/check.h"

#include <shunt/autograd/autograd_meta.h>
#include <shunt/ops.h>
#include <shunt/tensor/generator.h>

#include <cstring>

namespace shunt::compiled {
namespace {

/// The bytes of a tensor's elements in row-major order; every NaN the same.
std::string bytesOf(const Tensor& t) {
  const NoGradGuard no_grad;
  Tensor plain = ops::clone::call(t.detach(), MemoryFormat::Contiguous).to(kCPU);
  if (isFloatingType(plain.dtype())) plain = ops::where_ScalarOther::call(plain.eq(plain), plain, 0);
  return {static_cast<const char*>(plain.data_ptr()), plain.nbytes()};
}

/// A tensor that a call can write to, as it is now.
struct Kept {
  Tensor tensor;
  Tensor elements;  // a copy
  Tensor grad, grad_elements;
  int64_t version = 0;
};

Tensor copyOf(const Tensor& t) {
  const NoGradGuard no_grad;
  return t.defined() ? ops::clone::call(t.detach(), MemoryFormat::Contiguous) : t;
}

Tensor* gradOf(const Tensor& t) {
  auto* meta = autograd::get_autograd_meta(t);
  return meta != nullptr ? &meta->grad_ : nullptr;
}

std::vector<Kept> keep(const std::vector<Tensor>& tensors) {
  std::vector<Kept> all;
  for (const Tensor& t : tensors) {
    if (!t.defined()) continue;
    const Tensor* grad = gradOf(t);
    const Tensor g = grad != nullptr ? *grad : Tensor();
    all.push_back({t, copyOf(t), g, copyOf(g), t.is_inference() ? 0 : t._version()});
  }
  return all;
}

void restore(const std::vector<Kept>& all) {
  const NoGradGuard no_grad;
  for (const Kept& k : all) {
    k.tensor.data().copy_(k.elements);
    if (Tensor* grad = gradOf(k.tensor)) {
      *grad = k.grad;
      if (k.grad.defined()) k.grad.data().copy_(k.grad_elements);
    }
  }
}

struct State {
  std::vector<std::string> results, elements, grads;
  std::vector<int64_t> versions;
};

std::string looksOf(const Tensor& t) {
  return t.defined() ? detail::str(t.dtype(), t.sizes(), t.strides(), t.requires_grad(), ' ') + bytesOf(t)
                     : "undefined";
}

State stateOf(const std::vector<Tensor>& results, const std::vector<Kept>& kept) {
  State s;
  for (const Tensor& t : results) s.results.push_back(looksOf(t));
  for (const Kept& k : kept) {
    s.elements.push_back(looksOf(k.tensor));
    const Tensor* grad = gradOf(k.tensor);
    s.grads.push_back(grad != nullptr ? looksOf(*grad) : "undefined");
    s.versions.push_back(k.tensor.is_inference() ? 0 : k.tensor._version());
  }
  return s;
}

std::string difference(const State& graph, const State& function, const std::vector<Kept>& kept) {
  const auto first = [](const auto& a, const auto& b) {
    size_t i = 0;
    while (i < std::min(a.size(), b.size()) && a[i] == b[i]) ++i;
    return i;
  };
  if (const size_t i = first(graph.results, function.results); i < function.results.size())
    return detail::str("result ", i);
  if (const size_t i = first(graph.elements, function.elements); i < kept.size())
    return detail::str("what is written to a tensor of shape ", kept[i].tensor.sizes());
  if (const size_t i = first(graph.grads, function.grads); i < kept.size())
    return detail::str("the grad of a tensor of shape ", kept[i].tensor.sizes());
  for (size_t i = 0; i < kept.size(); ++i)
    if (graph.versions[i] - kept[i].version != function.versions[i] - graph.versions[i])
      return detail::str("the version of a tensor of shape ", kept[i].tensor.sizes());
  return {};
}

}  // namespace

std::vector<Tensor> runChecked(const std::string& name, const Variant& variant,
                               const detail::CompileArguments& arguments,
                               const std::function<std::vector<Tensor>()>& function) {
  std::vector<Tensor> given = arguments.tensors;
  given.insert(given.end(), variant.captured.begin(), variant.captured.end());
  const std::vector<Kept> kept = keep(given);
  const auto random = default_generator()->position();
  const State graph = stateOf(variant.run(arguments), kept);
  const auto random_after = default_generator()->position();
  restore(kept);
  default_generator()->set_position(random);
  std::vector<Tensor> results = function();
  std::string found = difference(graph, stateOf(results, kept), kept);
  if (found.empty() && default_generator()->position() != random_after) found = "the random numbers that were drawn";
  SHUNT_CHECK(found.empty(), name, ": SHUNT_COMPILE_CHECK: the graph and the function differ in ", found,
              ". What the function reads besides tensors was frozen when it was recorded: pass it as an argument, or "
              "name it in CompileOptions::captures or ::scalars");
  return results;
}

}  // namespace shunt::compiled
