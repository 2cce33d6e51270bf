#include "src/compile/check.h"

#include "src/autograd/storage_and_grad.h"
#include "src/compile/checks/compared.h"
#include "src/compile/checks/first_difference.h"

#include <shunt/ops.h>
#include <shunt/tensor/generator.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace shunt::compiled {
namespace {

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

std::vector<KeptWithGrad> keep(const std::vector<Tensor>& tensors) {
  std::vector<KeptWithGrad> all;
  for (const Tensor& t : tensors) {
    if (!t.defined()) continue;
    KeptWithGrad& kept = all.emplace_back(KeptWithGrad{Kept(t), {}});
    if (const Tensor* grad = autograd::gradOf(t)) kept.grad.emplace(*grad);
  }
  return all;
}

void restore(const std::vector<KeptWithGrad>& all) {
  for (const KeptWithGrad& k : all) {
    k.tensor.restore();
    auto* meta = autograd::get_autograd_meta(k.tensor.tensor);
    if (meta == nullptr) continue;
    meta->grad_ = k.grad ? k.grad->tensor : Tensor();
    if (k.grad) k.grad->restore();
  }
}

/// A tensor as it is now; what is compared of it.
struct Look {
  explicit Look(const Tensor& t);
  /// Of the graph's from the function's; empty: none.
  std::string difference(const Look& function) const;

  Tensor elements;  // a copy
  std::vector<int64_t> strides;
  bool requires_grad = false;
};

Look::Look(const Tensor& t) {
  if (!t.defined()) return;
  const NoGradGuard no_grad;
  elements = ops::clone::call(t.detach(), MemoryFormat::Contiguous).to(kCPU);
  strides = t.strides().vec();
  requires_grad = t.requires_grad();
}

std::string Look::difference(const Look& function) const {
  if (std::string found = firstDifference(elements, function.elements); !found.empty()) return found;
  const IntArrayRef mine = strides, its = function.strides;
  if (mine != its) return detail::str("its strides are ", mine, ", expected ", its);
  return differenceOfGrad(requires_grad, function.requires_grad);
}

struct State {
  std::vector<Look> results, elements, grads;
  std::vector<uint32_t> versions;
};

State stateOf(const detail::CompileOutputs& results, const std::vector<KeptWithGrad>& kept) {
  State s;
  for (const Tensor& t : results) s.results.emplace_back(t);
  for (const KeptWithGrad& k : kept) {
    s.elements.emplace_back(k.tensor.tensor);
    const Tensor* grad = autograd::gradOf(k.tensor.tensor);
    s.grads.emplace_back(grad != nullptr ? *grad : Tensor());
    s.versions.push_back(versionOf(k.tensor.tensor));
  }
  return s;
}

std::string difference(const State& graph, const State& function, const std::vector<KeptWithGrad>& kept) {
  if (graph.results.size() != function.results.size())
    return detail::str("how many tensors they return: ", graph.results.size(), " and ", function.results.size());
  std::string found;
  const auto differs = [&](const Look& a, const Look& b) { return !(found = a.difference(b)).empty(); };
  for (size_t i = 0; i < function.results.size(); ++i)
    if (differs(graph.results[i], function.results[i])) return detail::str("result ", i, ": ", found);
  for (size_t i = 0; i < kept.size(); ++i) {
    const auto of = [&](const char* what) {
      return detail::str(what, " a tensor of shape ", IntArrayRef(kept[i].tensor.sizes), ": ", found);
    };
    if (differs(graph.elements[i], function.elements[i])) return of("what is written to");
    if (differs(graph.grads[i], function.grads[i])) return of("the grad of");
    if (graph.versions[i] == function.versions[i]) continue;
    found = detail::str("it is ", graph.versions[i], ", expected ", function.versions[i]);
    return of("the version of");
  }
  return {};
}

/// Where generators stand: the default one, and those that the graph draws from.
class RandomPositions {
 public:
  explicit RandomPositions(const Graph& graph) {
    for (const Generator& g : generatorsOf(graph)) positions_.emplace_back(g, g->position());
  }
  void restore() const {
    for (const auto& [generator, position] : positions_) generator->set_position(position);
  }
  bool operator==(const RandomPositions& other) const {
    return std::ranges::equal(positions_, other.positions_, {}, &Entry::second, &Entry::second);
  }

 private:
  using Entry = std::pair<Generator, std::pair<uint64_t, uint64_t>>;
  std::vector<Entry> positions_;
};

}  // namespace

detail::CompileOutputs runChecked(const std::string& name, const Variant& variant,
                                  const detail::CompileArguments& arguments,
                                  FunctionRef<detail::CompileOutputs()> function) {
  std::vector<Tensor> given;
  for (const Tensor* t : arguments.tensors) given.push_back(*t);
  given.insert(given.end(), variant.captured.begin(), variant.captured.end());
  const std::vector<KeptWithGrad> kept = keep(given);
  const RandomPositions random(variant.graph);
  // What goes on is the graph's results where they have a compiled backward pass, which is then checked as well; else
  // the function's, so that what was wrong doesn't spread.
  const bool graph_is_last = variant.backward != nullptr;
  const auto run = [&](bool graph) { return graph ? variant.run(arguments) : function(); };
  const State first = stateOf(run(!graph_is_last), kept);
  const RandomPositions random_after(variant.graph);
  restore(kept);
  random.restore();
  detail::CompileOutputs results = run(graph_is_last);
  const State last = stateOf(results, kept);
  std::string found = graph_is_last ? difference(last, first, kept) : difference(first, last, kept);
  if (found.empty() && RandomPositions(variant.graph) != random_after) found = "the random numbers that were drawn";
  SHUNT_CHECK(found.empty(), name, ": SHUNT_COMPILE_CHECK: the graph and the function differ in ", found,
              ". A graph keeps the numbers and variables that the function read when it was recorded: pass what "
              "changes as an argument, or name it in CompileOptions::captures or ::scalars. Recording ran the "
              "function's code once more, so a counter in it is ahead of the calls");
  return results;
}

}  // namespace shunt::compiled
