#include "src/compile/check.h"

#include <shunt/autograd/autograd_meta.h>
#include <shunt/ops.h>
#include <shunt/tensor/generator.h>

#include <cstring>

namespace shunt::compiled {
namespace {

std::string bytesOfPlain(const Tensor& t) { return {static_cast<const char*>(t.data_ptr()), t.nbytes()}; }

/// The bytes of a tensor's elements in row-major order; every NaN the same, and like nothing else.
std::string bytesOf(const Tensor& t) {
  const NoGradGuard no_grad;
  const Tensor plain = ops::clone::call(t.detach(), MemoryFormat::Contiguous).to(kCPU);
  if (!isFloatingType(plain.dtype())) return bytesOfPlain(plain);
  const Tensor numbers = plain.eq(plain);
  return bytesOfPlain(ops::where_ScalarOther::call(numbers, plain, 0)) + bytesOfPlain(numbers);
}

/// A tensor that a call can write to, as it is now.
struct Kept {
  explicit Kept(const Tensor& t);
  void restore() const;

  Tensor tensor;
  Tensor all;     // the whole of its memory, where it has any: a view may be written through another
  Tensor copied;  // of that
  std::vector<int64_t> sizes, strides;
  int64_t offset;
  uint32_t version;
};

Tensor wholeOf(const Tensor& t) {
  if (!t.unsafeGetTensorImpl()->has_storage()) return t.data();
  const int64_t elements = static_cast<int64_t>(t.storage()->nbytes()) / elementSize(t.dtype());
  return t.data().as_strided({elements}, {1}, 0);
}

uint32_t versionOf(const Tensor& t) { return t.is_inference() ? 0 : t.unsafeGetTensorImpl()->version().current(); }

Kept::Kept(const Tensor& t)
    : tensor(t), sizes(t.sizes().vec()), strides(t.strides().vec()), offset(t.storage_offset()), version(versionOf(t)) {
  const NoGradGuard no_grad;
  all = wholeOf(t);
  copied = ops::clone::call(all, MemoryFormat::Contiguous);
}

void Kept::restore() const {
  const NoGradGuard no_grad;
  TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  impl.set_sizes_and_strides(sizes, strides, offset);
  if (tensor.is_inference() && !InferenceMode::is_enabled()) return;  // nobody writes to it here
  all.copy_(copied);
  if (!tensor.is_inference()) impl.version().set(version);
}

/// The same, and its grad.
struct KeptWithGrad {
  Kept tensor;
  std::optional<Kept> grad;
};

Tensor* gradOf(const Tensor& t) {
  auto* meta = autograd::get_autograd_meta(t);
  return meta != nullptr ? &meta->grad_ : nullptr;
}

std::vector<KeptWithGrad> keep(const std::vector<Tensor>& tensors) {
  std::vector<KeptWithGrad> all;
  for (const Tensor& t : tensors) {
    if (!t.defined()) continue;
    KeptWithGrad& kept = all.emplace_back(KeptWithGrad{Kept(t), {}});
    if (const Tensor* grad = gradOf(t); grad != nullptr && grad->defined()) kept.grad.emplace(*grad);
  }
  return all;
}

void restore(const std::vector<KeptWithGrad>& all) {
  for (const KeptWithGrad& k : all) {
    k.tensor.restore();
    Tensor* grad = gradOf(k.tensor.tensor);
    if (grad == nullptr) continue;
    *grad = k.grad ? k.grad->tensor : Tensor();
    if (k.grad) k.grad->restore();
  }
}

struct State {
  std::vector<std::string> results, elements, grads;
  std::vector<uint32_t> versions;
};

std::string looksOf(const Tensor& t) {
  return t.defined() ? detail::str(t.dtype(), t.sizes(), t.strides(), t.requires_grad(), ' ') + bytesOf(t)
                     : "undefined";
}

State stateOf(const detail::CompileOutputs& results, const std::vector<KeptWithGrad>& kept) {
  State s;
  for (const Tensor& t : results) s.results.push_back(looksOf(t));
  for (const KeptWithGrad& k : kept) {
    s.elements.push_back(looksOf(k.tensor.tensor));
    const Tensor* grad = gradOf(k.tensor.tensor);
    s.grads.push_back(grad != nullptr ? looksOf(*grad) : "undefined");
    s.versions.push_back(versionOf(k.tensor.tensor));
  }
  return s;
}

std::string difference(const State& graph, const State& function, const std::vector<KeptWithGrad>& kept) {
  if (graph.results.size() != function.results.size())
    return detail::str("how many tensors they return: ", graph.results.size(), " and ", function.results.size());
  for (size_t i = 0; i < function.results.size(); ++i)
    if (graph.results[i] != function.results[i]) return detail::str("result ", i);
  for (size_t i = 0; i < kept.size(); ++i) {
    const auto of = [&](const char* what) {
      return detail::str(what, " a tensor of shape ", IntArrayRef(kept[i].tensor.sizes));
    };
    if (graph.elements[i] != function.elements[i]) return of("what is written to");
    if (graph.grads[i] != function.grads[i]) return of("the grad of");
    if (graph.versions[i] != function.versions[i]) return of("the version of");
  }
  return {};
}

}  // namespace

detail::CompileOutputs runChecked(const std::string& name, const Variant& variant,
                                  const detail::CompileArguments& arguments,
                                  FunctionRef<detail::CompileOutputs()> function) {
  std::vector<Tensor> given;
  for (const Tensor* t : arguments.tensors) given.push_back(*t);
  given.insert(given.end(), variant.captured.begin(), variant.captured.end());
  const std::vector<KeptWithGrad> kept = keep(given);
  const auto random = default_generator()->position();
  // What goes on is the graph's results where they have a compiled backward pass, which is then checked as well; else
  // the function's, so that what was wrong doesn't spread.
  const bool graph_is_last = variant.backward != nullptr;
  const auto run = [&](bool graph) { return graph ? variant.run(arguments) : function(); };
  const State first = stateOf(run(!graph_is_last), kept);
  const auto random_after = default_generator()->position();
  restore(kept);
  default_generator()->set_position(random);
  detail::CompileOutputs results = run(graph_is_last);
  const State last = stateOf(results, kept);
  std::string found = graph_is_last ? difference(last, first, kept) : difference(first, last, kept);
  if (found.empty() && default_generator()->position() != random_after) found = "the random numbers that were drawn";
  SHUNT_CHECK(found.empty(), name, ": SHUNT_COMPILE_CHECK: the graph and the function differ in ", found,
              ". What the function reads besides tensors was frozen when it was recorded: pass it as an argument, or "
              "name it in CompileOptions::captures or ::scalars");
  return results;
}

}  // namespace shunt::compiled
